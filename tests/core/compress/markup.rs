//! HTML and XML, shortened to their text.

use crate::support::cases;
use crate::support::shrinking::{check_guarantees, saved, shrink, tokens};
use proptest::prelude::*;
use ullage::compress::{Aim, ContentKind};

fn page(sections: usize) -> String {
    let mut text = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>The &amp; page</title><style>.a > .b { color: red }</style>\
         <script>if (a < b) { run(\"<p>never</p>\") }</script></head>\n<body class=\"page page--wide\">\n<!-- a comment -->\n\
         <nav class=\"top\"><ul><li><a class=\"link\" href=\"/home\">Home</a></li><li><a href=\"#top\">Top</a></li></ul></nav>\n",
    );
    for i in 0..sections {
        text += &format!(
            "<section id=\"s{i}\" class=\"section section--{i}\" data-track=\"abc-{i}\"><h2 class=\"title\">Part {i}</h2>\n\
             <div class=\"content\"><p class=\"text\">What part {i} is <b>about</b>, and\n   why it is <a href=\"https://example.com/{i}?a=1&amp;b=2\" \
             rel=\"noopener noreferrer\" target=\"_blank\">linked</a>.</p>\n<ul class=\"list\"><li><span>First of {i}</span></li><li>Second</li></ul>\n\
             <table class=\"table\"><tr><th>Name</th><th>Size</th></tr><tr><td>part-{i}</td><td>{}</td></tr></table></div></section>\n",
            i * 17
        );
    }
    text + "</body></html>\n"
}

#[test]
fn what_is_marked_up_is_kept_and_the_marks_are_not() {
    let text = page(150);
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Markup);
    for said in [
        "# The & page\n",
        "- Home (/home)\n- Top\n",
        "## Part 0\nWhat part 0 is about, and why it is linked (https://example.com/0?a=1&b=2).\n",
        "## Part 149\n",
    ] {
        assert!(short.text.contains(said), "{said} is missing:\n{}", short.text);
    }
    for mark in ["<", "never", "color", "a comment", "section--", "noopener"] {
        assert!(!short.text.contains(mark), "{mark}: {}", short.text);
    }
    assert!(saved(&text, &short.text) > 60.0);
    let whole = shrink("", &text, Aim::Tokens(tokens(&text) - 1)).unwrap().text;
    assert!(whole.contains("- First of 77\n- Second\nName | Size\npart-77 | 1309\n"), "{whole}");
    assert!(saved(&text, &whole) > 50.0);
}

#[test]
fn elements_of_xml_keep_their_names() {
    let item = |i: usize| {
        format!(
            "  <Item id=\"{i}\">\n    <Title>Text {i}</Title>\n    <pubDate/>\n    <body><![CDATA[Some <b>text</b>]]></body>\n  </Item>\n"
        )
    };
    let text = format!("<?xml version=\"1.0\"?>\n<Feed>\n{}</Feed>\n", (0..900).map(item).collect::<String>());
    let short = shrink("", &text, Aim::Essence).unwrap();
    assert_eq!(short.kind, ContentKind::Markup);
    assert!(
        short.text.starts_with("Feed\n  Item id=0\n    Title: Text 0\n    pubDate\n    body: Some <b"),
        "{}",
        short.text
    );
    assert!(saved(&text, &short.text) > 60.0);
}

#[test]
fn depth_and_breakage_take_no_longer() {
    // A quadratic step would take many minutes.
    let cases = [
        "<div>".repeat(300_000) + "text </div>",
        "<a href=x>".repeat(300_000) + "</a>",
        "<p>".to_owned() + &"<p <!-- </p>".repeat(300_000) + ">",
        "<p></p>".to_owned() + &"&amp".repeat(300_000) + "<b>",
        "<x a='".to_owned() + &"b='<y>' ".repeat(300_000) + "</x>",
        "<r></r>".to_owned() + &"<![CDATA[".repeat(300_000) + "</r>",
        "<svg><style></p>".repeat(300_000) + "</svg>",
        "<t ".to_owned() + &(0..300_000).map(|i| format!("a{i}=1 ")).collect::<String>() + "></t>",
    ];
    for text in cases {
        let short = shrink("", &text, Aim::Tokens(200));
        assert!(short.is_some_and(|short| short.text.len() < 2_000), "{}", &text[..40]);
    }
}

#[test]
fn what_a_program_reports_in_a_script_or_a_comment_is_kept() {
    let failures = ["TypeError: qq1 is not a function", "ERROR could not bind qq2", "fatal: no such branch qq3"];
    let hidden = format!(
        "<script>let a = 1;\n{}\n</script><!-- built:\n{}\n--><style>\n{}\n.a {{ color: red }}</style>",
        failures[0], failures[1], failures[2]
    );
    let text = page(60).replace("<!-- a comment -->", &hidden);
    let short = shrink("", &text, Aim::Essence).unwrap().text;
    assert!(failures.iter().all(|failure| short.contains(failure)), "{short}");
    check_guarantees("", &text, &failures.map(str::to_owned));
    let between = failures.join("\n");
    let text = page(60).replace("about</b>", &format!("about\n{between}\n</b>"));
    check_guarantees("", &text, &failures.map(str::to_owned));
    let feed = (0..200).map(|i| format!("<item>Text {i}</item>\n")).collect::<String>();
    let text = format!("<?xml version=\"1.0\"?>\n<feed>\n<!--\n{}\n-->\n{feed}\n{between}\n</feed>\n", failures[1]);
    check_guarantees("", &text, &failures.map(str::to_owned));
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn guarantees(sections in 1_usize..40, failing in 2_usize..20) {
        let mut text = page(sections);
        let mut failures = Vec::new();
        for i in (0..sections).step_by(failing) {
            failures.push(format!("error {i:04} in the last build"));
            text = text.replace(&format!("<span>First of {i}</span>"), &format!("<span>{}</span>", failures[failures.len() - 1]));
        }
        check_guarantees("", &text, &failures);
    }

    #[test]
    fn guarantees_of_anything_with_tags(parts in prop::collection::vec("(</?(p|li|h1|td|a href=\"x\"|pre|script|title|X)>|[a-z é&<>\"'\n!-]{0,40})", 1..80)) {
        check_guarantees("", &format!("<p>{}</p>", parts.concat()), &[]);
    }
}
