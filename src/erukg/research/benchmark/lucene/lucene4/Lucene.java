import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.FieldInfo.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Version;

/** What is asked of Lucene, in the words of its version 4.10. */
final class Lucene {
    static final String VERSION = Version.LATEST.toString();
    private final IndexSearcher searcher;

    Lucene(Path folder, Path documents) throws IOException {
        BM25Similarity similarity = new BM25Similarity(0.9f, 0.4f);
        FieldType type = new FieldType();
        type.setIndexed(true);
        type.setTokenized(true);
        type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
        // Merging neighbours only keeps documents numbered in the order they came.
        IndexWriterConfig config = new IndexWriterConfig(Version.LATEST, null)
            .setSimilarity(similarity).setMergePolicy(new LogDocMergePolicy()).setRAMBufferSizeMB(256);
        Directory directory = FSDirectory.open(folder.toFile());
        Terms terms = new Terms();
        Document document = new Document();
        document.add(new Field("terms", terms, type));
        try (IndexWriter writer = new IndexWriter(directory, config);
                BufferedReader lines = Files.newBufferedReader(documents)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                terms.setLine(line);
                writer.addDocument(document);
            }
            writer.forceMerge(1);
        }
        searcher = new IndexSearcher(DirectoryReader.open(directory));
        searcher.setSimilarity(similarity);
        BooleanQuery.setMaxClauseCount(Integer.MAX_VALUE);
    }

    static Query any(String[] terms, int[] counts) {
        BooleanQuery query = new BooleanQuery();
        for (int i = 0; i < terms.length; i++) {
            Query term = new TermQuery(new Term("terms", terms[i]));
            term.setBoost(counts[i]);
            query.add(term, Occur.SHOULD);
        }
        return query;
    }

    ScoreDoc[] search(Query query, int keep) throws IOException {
        return searcher.search(query, keep).scoreDocs;
    }
}
