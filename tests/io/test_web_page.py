"""The text of web pages: all that a reader sees, word by word, and nothing of what is around it."""

from __future__ import annotations

import time

import pytest

from erukg.io.web_page import read_page


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>One<br>two</h1><p>three<br/>four<BR >five</p>", "One two\n\nthree four five"),
        ("one<br>two<br><br>three<br> <br>four", "one two\n\nthree\n\nfour"),
        ("<div>one<div>two</div>three</div>", "one\n\ntwo\n\nthree"),
        ("<blockquote>one</blockquote><dl><dt>two<dd>three</dl>", "one\n\ntwo\n\nthree"),
        ("<details><summary>one</summary>two</details><center>three</center>", "one\n\ntwo\n\nthree"),
        ("<figure><img src=a.png alt=x><figcaption>one</figcaption></figure>", "one"),
        ("<p>bo<b>ld</b> <a href=#>li</a>nk wo<wbr>rd di&shy;vided sea&nbsp;ice", "bold link word divided sea ice"),
        ("<ul><li>one<li>two</ul><ol><li><p>three</p></li></ol>", "one\n\ntwo\n\nthree"),
        ("<table><tr><th>a<td>b<tr><td>c</td><td></td></table>d", "a | b\nc\n\nd"),
        ("<table><tr><td><p>one</p><p>two</p><td>three</table>", "one\n\ntwo\n\nthree"),
        ("<table><tr><td><table><tr><td>a<td>b</table>c</table>", "a | b\n\nc"),
        ("<nav>x<span>x</nav><p>one</p><aside>x</aside><footer>x</footer>", "one"),
        ("<p hidden>x<p>one</p><div style='Display: NONE'>x<div>x</div>x</div>two", "one\n\ntwo"),
        ("<div role=navigation>x</div><div aria-hidden=true>x</div>one", "one"),
        ("<script>if (a<b) x('</p>')</script><style>x</style><pre>x</pre><template>x</template>one", "one"),
        ("<p>one</p></div></b></table>two", "one\n\ntwo"),
        ("one<!-- x --><![if x]> two <![endif]><![CDATA[ x ]]>", "one two"),
        ("&lt;one&gt; &amp; &eacute;&#233;&nosuch;", "<one> & éé&nosuch;"),
        ("<p>one</p><!-- never ended <p>x", "one"),
        ("<p>one</p><b never=ended", "one"),
        ("one --> two -->", "one --> two -->"),
        ("", ""),
    ],
)
def test_what_is_read(page: str, text: str) -> None:
    assert read_page(page).text == text


def test_titles() -> None:
    assert read_page("<title> A &amp;\n B </title><svg><title>x</title></svg><p>one") == ("one", "A & B")
    assert read_page("<p>one").title == ""


@pytest.mark.parametrize(
    "part", ["<a>", "</b>", "<p>", "<table><tr><td>", "<", "<!", "<!--", "<![", "<a b=", "<a b='", "<li hidden>", "&#x"]
)
def test_no_page_takes_long(part: str) -> None:
    begin = time.process_time()
    read_page(part * 20_000 + "x")
    assert time.process_time() - begin < 5
