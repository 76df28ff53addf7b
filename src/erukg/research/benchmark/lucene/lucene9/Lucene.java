import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogDocMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Version;

/** What is asked of Lucene, in the words of its version 9. */
final class Lucene {
    static final String VERSION = Version.LATEST.toString();
    private final IndexSearcher searcher;

    Lucene(Path folder, Path documents) throws IOException {
        BM25Similarity similarity = new BM25Similarity(0.9f, 0.4f);
        FieldType type = new FieldType();
        type.setTokenized(true);
        type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
        // Merging neighbours only keeps documents numbered in the order they came.
        IndexWriterConfig config = new IndexWriterConfig(null)
            .setSimilarity(similarity).setMergePolicy(new LogDocMergePolicy()).setRAMBufferSizeMB(256);
        Directory directory = FSDirectory.open(folder);
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
        IndexSearcher.setMaxClauseCount(Integer.MAX_VALUE);
    }

    static Query any(String[] terms, int[] counts) {
        BooleanQuery.Builder query = new BooleanQuery.Builder();
        for (int i = 0; i < terms.length; i++) {
            query.add(new BoostQuery(new TermQuery(new Term("terms", terms[i])), counts[i]), Occur.SHOULD);
        }
        return query.build();
    }

    ScoreDoc[] search(Query query, int keep) throws IOException {
        // No skipping of what cannot be among the best: for abstracts among 140,000 that took four times as long.
        TopScoreDocCollector best = TopScoreDocCollector.create(keep, Integer.MAX_VALUE);
        searcher.search(query, best);
        return best.topDocs().scoreDocs;
    }
}
