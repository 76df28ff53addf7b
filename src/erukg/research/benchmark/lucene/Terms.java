import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;

/** The terms of a line, split at spaces and otherwise as they are. */
final class Terms extends TokenStream {
    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private String line = "";
    private int next;

    void setLine(String line) {
        this.line = line;
    }

    @Override
    public void reset() {
        next = 0;
    }

    @Override
    public boolean incrementToken() {
        clearAttributes();
        if (next >= line.length()) {
            return false;
        }
        int end = line.indexOf(' ', next);
        end = end < 0 ? line.length() : end;
        term.append(line, next, end);
        next = end + 1;
        return true;
    }
}
