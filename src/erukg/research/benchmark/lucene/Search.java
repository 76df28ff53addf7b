import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;

/**
 * Search FOLDER DOCUMENTS KEEP: indexes the lines of DOCUMENTS in FOLDER, then answers queries from standard input.
 *
 * <p>A document is a line of terms. Queries come in batches: a line with their number, then one a line as
 * "term:count term:count". Each is answered by a line of JSON with the seconds of the search alone; the first line
 * of all says which Lucene this is.
 */
public final class Search {
    public static void main(String[] arguments) throws Exception {
        Path folder = Paths.get(arguments[0]);
        Lucene lucene = new Lucene(folder, Paths.get(arguments[1]));
        int keep = Integer.parseInt(arguments[2]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        out.println("{\"version\": \"" + Lucene.VERSION + "\"}");
        out.flush();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Query[] queries = new Query[Integer.parseInt(line)];
            for (int i = 0; i < queries.length; i++) {
                queries[i] = query(in.readLine());
            }
            for (Query query : queries) {
                long start = System.nanoTime();
                ScoreDoc[] found = lucene.search(query, keep);
                answer(out, (System.nanoTime() - start) * 1e-9, found);
            }
            out.flush();
        }
    }

    private static Query query(String line) {
        String[] weighted = line.isEmpty() ? new String[0] : line.split(" ");
        String[] terms = new String[weighted.length];
        int[] counts = new int[weighted.length];
        for (int i = 0; i < weighted.length; i++) {
            int colon = weighted[i].indexOf(':');
            terms[i] = weighted[i].substring(0, colon);
            counts[i] = Integer.parseInt(weighted[i].substring(colon + 1));
        }
        return Lucene.any(terms, counts);
    }

    private static void answer(PrintStream out, double seconds, ScoreDoc[] found) {
        StringBuilder documents = new StringBuilder();
        StringBuilder scores = new StringBuilder();
        for (int i = 0; i < found.length; i++) {
            documents.append(i == 0 ? "" : ", ").append(found[i].doc);
            scores.append(i == 0 ? "" : ", ").append(found[i].score);
        }
        out.println("{\"seconds\": " + seconds + ", \"documents\": [" + documents + "], \"scores\": [" + scores + "]}");
    }
}
