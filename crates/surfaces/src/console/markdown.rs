//! Agents' Markdown as HTML that can do nothing: what is not on the list below becomes text.
//!
//! Raw HTML is shown as it was written, pictures become their description and their address, and links say where they lead.

use std::fmt::Write;

use inbox_core::text::visible;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::html::{Html, escape};
use super::size::{TEXT, clip};

/// The longest text that is laid out; a longer one is shown as it is.
const LONGEST: usize = 256 * 1024;

/// How deep quotes and lists may be; what is deeper is shown as it is.
const DEEPEST: usize = 32;

/// How many characters of a text are laid out where there are others beside it.
const BEGINNING: usize = 6_000;

/// Lays out how a text begins; whether there is more of it.
pub(super) fn beginning(text: &str) -> (Html, bool) {
    let shown = clip(text, BEGINNING);
    let is_cut = shown.len() < text.len();
    let html = markdown(&shown);
    if html.size() <= TEXT {
        return (html, is_cut);
    }
    // Little can become much: a table of one line has as many cells as its longest.
    (plain(&clip(text, BEGINNING / 3)), true)
}

/// Lays out a text.
pub(super) fn markdown(text: &str) -> Html {
    let text = visible(text, true);
    if text.len() > LONGEST {
        return plain(&text);
    }
    let mut options = Options::empty();
    options.insert(Options::ENABLE_TABLES);
    options.insert(Options::ENABLE_STRIKETHROUGH);
    options.insert(Options::ENABLE_TASKLISTS);
    let mut writer = Writer::default();
    for event in Parser::new_ext(&text, options) {
        if writer.depth > DEEPEST || writer.out.len() > 4 * LONGEST {
            return plain(&text);
        }
        writer.write(event);
    }
    Html::new(writer.out)
}

/// A text as it is, with its lines.
pub(super) fn plain(text: &str) -> Html {
    Html::new(format!("<pre>{}</pre>", escape(&visible(text, true))))
}

#[derive(Default)]
struct Writer {
    out: String,
    depth: usize,
    in_head: bool,
    /// The addresses of links that are open, each where it may be followed.
    links: Vec<Option<String>>,
}

impl Writer {
    fn write(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str("<code>");
                self.text(&text);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => {
                self.out.push_str(if is_done { "☑ " } else { "☐ " });
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn text(&mut self, text: &str) {
        // What was written as an entity is a character only now.
        self.out.push_str(&escape(&visible(text, true)));
    }

    fn start(&mut self, tag: &Tag<'_>) {
        self.depth += 1;
        match tag {
            // A message's headings are below the page's own.
            Tag::Heading { level, .. } => {
                let _ = write!(self.out, "<h{}>", heading(*level));
            }
            Tag::List(Some(first)) => {
                let _ = write!(self.out, "<ol start=\"{first}\">");
            }
            Tag::TableHead => {
                self.in_head = true;
                self.out.push_str("<thead><tr>");
            }
            Tag::TableCell => self
                .out
                .push_str(if self.in_head { "<th>" } else { "<td>" }),
            Tag::Link { dest_url, .. } => {
                let target = Some(dest_url.as_ref()).filter(|url| may_follow(url));
                if let Some(url) = target {
                    let url = visible(url, false);
                    let url = escape(&url);
                    let _ = write!(
                        self.out,
                        "<a href=\"{url}\" rel=\"noopener noreferrer nofollow\" class=\"away\" title=\"{url}\">"
                    );
                }
                self.links
                    .push(target.is_none().then(|| dest_url.to_string()));
            }
            Tag::Image { dest_url, .. } => {
                self.out.push_str("<span class=\"picture\">");
                self.links.push(Some(dest_url.to_string()));
            }
            Tag::HtmlBlock => self.out.push_str("<pre>"),
            other => {
                if let Some(name) = element(other.to_end()) {
                    let _ = write!(self.out, "<{name}>");
                }
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        self.depth = self.depth.saturating_sub(1);
        match tag {
            TagEnd::Heading(level) => {
                let _ = write!(self.out, "</h{}>", heading(level));
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.out.push_str("</tr></thead>");
            }
            TagEnd::TableCell => self
                .out
                .push_str(if self.in_head { "</th>" } else { "</td>" }),
            TagEnd::CodeBlock => self.out.push_str("</code></pre>"),
            TagEnd::Link | TagEnd::Image => match self.links.pop().flatten() {
                // Where it cannot be followed, the address stands beside the words.
                Some(address) => {
                    let _ = write!(
                        self.out,
                        " <code>{}</code>",
                        escape(&visible(&address, false))
                    );
                    if tag == TagEnd::Image {
                        self.out.push_str("</span>");
                    }
                }
                None => self.out.push_str("</a>"),
            },
            TagEnd::HtmlBlock => self.out.push_str("</pre>"),
            other => {
                if let Some(name) = element(other) {
                    let name = name.split_once('>').map_or(name, |(first, _)| first);
                    let _ = write!(self.out, "</{name}>");
                }
            }
        }
    }
}

/// The element that stands for a part of a text, where it is the same at both ends.
fn element(tag: TagEnd) -> Option<&'static str> {
    match tag {
        TagEnd::Paragraph => Some("p"),
        TagEnd::BlockQuote(_) => Some("blockquote"),
        TagEnd::CodeBlock => Some("pre><code"),
        TagEnd::List(true) => Some("ol"),
        TagEnd::List(false) => Some("ul"),
        TagEnd::Item => Some("li"),
        TagEnd::Table => Some("table"),
        TagEnd::TableRow => Some("tr"),
        TagEnd::Emphasis => Some("em"),
        TagEnd::Strong => Some("strong"),
        TagEnd::Strikethrough => Some("del"),
        _ => None,
    }
}

fn heading(level: pulldown_cmark::HeadingLevel) -> usize {
    (level as usize + 3).min(6)
}

/// Whether a link may be followed: to the web or to a mailbox, and by its whole address.
fn may_follow(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let is_known = ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme));
    is_known && !url.contains(|c: char| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        markdown(text).to_string()
    }

    #[test]
    fn what_people_write_is_laid_out() {
        assert_eq!(
            html("# One\n\n*two* **three** `four`\n\n- five\n- [six](https://example.org)"),
            "<h4>One</h4><p><em>two</em> <strong>three</strong> <code>four</code></p><ul><li>five</li><li><a href=\"https://example.org\" rel=\"noopener noreferrer nofollow\" class=\"away\" title=\"https://example.org\">six</a></li></ul>"
        );
        assert_eq!(
            html("|a|b|\n|-|-|\n|1|2|"),
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td>1</td><td>2</td></tr></table>"
        );
        assert_eq!(
            html("```rust\nlet a = 1 < 2;\n```"),
            "<pre><code>let a = 1 &lt; 2;\n</code></pre>"
        );
        assert_eq!(html("3. three"), "<ol start=\"3\"><li>three</li></ol>");
    }

    #[test]
    fn what_reorders_or_steers_is_shown_also_when_it_was_written_as_an_entity() {
        let text =
            "pay &#x202E;gnp.exe &#x1b;[31m &#x200b;x &rlm;y &#x9b;z [a](https://x.org/&#x202e;b)";
        let shown = html(text);
        let is_active = |c: char| c.is_control() || ('\u{200b}'..='\u{202e}').contains(&c);
        assert!(!shown.contains(is_active), "{shown:?}");
        assert!(shown.contains("\\u{202e}gnp.exe ␛[31m"), "{shown}");
    }

    #[test]
    fn what_would_act_is_shown_and_does_not() {
        for (text, wanted) in [
            (
                "<script>alert(1)</script>",
                "<pre>&lt;script&gt;alert(1)&lt;/script&gt;</pre>",
            ),
            (
                "a <img src=x onerror=alert(1)> b",
                "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>",
            ),
            (
                "![alt](https://example.org/x.png)",
                "<p><span class=\"picture\">alt <code>https://example.org/x.png</code></span></p>",
            ),
            (
                "[a](javascript:alert(1))",
                "<p>a <code>javascript:alert(1)</code></p>",
            ),
            (
                "[a](data:text/html,x)",
                "<p>a <code>data:text/html,x</code></p>",
            ),
            ("[a](//example.org)", "<p>a <code>//example.org</code></p>"),
            (
                "[a](&#x1b;javascript:x) ![b](&#x1b;c)",
                "<p>a <code>␛javascript:x</code> <span class=\"picture\">b <code>␛c</code></span></p>",
            ),
            (
                "[a](https://e.org/\"onclick=\"x)",
                "<p>[a](https://e.org/&quot;onclick=&quot;x)</p>",
            ),
        ] {
            let found = html(text);
            assert!(
                !found.contains("<script") && !found.contains("<img"),
                "{found}"
            );
            if !text.contains("onclick") {
                assert_eq!(found, wanted);
            }
        }
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_shown_as_it_is() {
        assert!(html(&"> ".repeat(500)).starts_with("<pre>"));
        assert!(html(&"a".repeat(LONGEST + 1)).starts_with("<pre>"));
    }

    /// The tags of a page, each as its name and whether it ends something.
    fn tags(html: &str) -> Vec<(String, bool)> {
        let pieces = html.split('<').skip(1);
        let tag = |piece: &str| {
            let inside = piece.split('>').next().unwrap_or_default();
            let (is_end, name) = match inside.strip_prefix('/') {
                Some(name) => (true, name),
                None => (false, inside),
            };
            (
                name.split(' ').next().unwrap_or_default().to_owned(),
                is_end,
            )
        };
        pieces.map(tag).collect()
    }

    const KNOWN: &[&str] = &[
        "p",
        "em",
        "strong",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "a",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "table",
        "thead",
        "tr",
        "th",
        "td",
        "del",
        "br",
        "hr",
        "span",
        "tbody",
        "s",
        "input",
    ];

    proptest::proptest! {
        #![proptest_config(crate::damage::cases(600))]

        #[test]
        fn whatever_is_written_is_laid_out_and_nothing_in_it_acts(text in crate::damage::damaged_text(vec![
            "# One\n\n*two* **three** `four` ~~five~~\n\n- six\n  1. [seven](https://example.org \"t\")\n\n> eight\n",
            "|a|b|\n|-|:-:|\n|1|2|\n\n```rust\nlet a = 1 < 2;\n```\n\n![x](http://a/b.png)\n<img src=x onerror=alert(1)>\n",
            "- [ ] a\n- [x] b\n\n[c]: javascript:alert(1)\n[c] <https://a> <mailto:a@b> [^1]\n\n[^1]: note\n***\n&lt;b&gt; &#0; &#x1b;",
        ])) {
            for html in [html(&text), beginning(&text).0.to_string(), plain(&text).to_string()] {
                let mut open = Vec::new();
                for (name, is_end) in tags(&html) {
                    proptest::prop_assert!(KNOWN.contains(&name.as_str()), "{name}: {html}");
                    if ["br", "hr", "input"].contains(&name.as_str()) {
                        continue;
                    }
                    if is_end {
                        proptest::prop_assert_eq!(open.pop(), Some(name), "{}", html);
                    } else {
                        open.push(name);
                    }
                }
                proptest::prop_assert!(open.is_empty(), "{open:?}: {html}");
                proptest::prop_assert!(!html.to_lowercase().contains("href=\"javascript"), "{html}");
                let is_active = |c: char| c.is_control() && c != '\n' && c != '\t';
                proptest::prop_assert!(!html.chars().any(is_active), "{html:?}");
            }
        }
    }
}
