// An invented abstract: the worked example that the page opens with.

export const EXAMPLE = `Retrieval-augmented generation over long documents
Large language models (LLMs) answer questions about documents that they have never seen, but lose most of a long document before they reach its end. We study retrieval-augmented generation for contracts and clinical notes of several hundred pages. Passages are found by a sparse retriever whose query expansion is learned from click logs, and reranked by a cross-encoder. Reranking halves the number of passages that a model has to read for the same accuracy.

Most hallucinations come from passages that name the right people in the wrong section; a short summary of each section removes a third of them. With retrieval, LLMs of seven billion parameters match models ten times as large that read without it. Query expansion helps most where a question and its answer share no words. We release the annotated questions, the relevance judgements and the code.`;
