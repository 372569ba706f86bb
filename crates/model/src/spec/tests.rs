//! Tests of the reader: places, kinds of values, suggestions, and the time it takes.

use super::*;

#[test]
fn unknown_key_names_place_and_nearest() {
    let doc = Doc::parse("a.toml", "name = \"x\"\n\n  titel = \"y\"\n").unwrap();
    let t = doc.root();
    t.str("name").unwrap();
    t.opt_str("title").unwrap();
    let e = t.finish().unwrap_err();
    assert_eq!((e.line, e.column), (3, 3));
    assert_eq!(e.nearest.as_deref(), Some("title"));
    assert!(e.to_string().contains("a.toml:3:3: unknown key `titel`"));
}

#[test]
fn a_missing_key_names_one_that_looks_like_it() {
    let doc = Doc::parse("a.toml", "[region]\nsise = 1\nname = \"b\"\n").unwrap();
    let root = doc.root();
    let region = root.opt_table("region").unwrap().unwrap();
    let e = region.int("size", 1..=9).unwrap_err();
    assert_eq!((e.line, e.what.as_str()), (1, "`region.size` is missing (there is `sise`)"));
    assert_eq!(root.str("title").unwrap_err().to_string(), "a.toml:1:1: `title` is missing; expected a string");
}

#[test]
fn a_single_slip_is_recognised_in_short_names_too() {
    assert_eq!(nearest("rnu", ["sweep", "run"]).as_deref(), Some("run"));
    assert_eq!(nearest("ru", ["sweep", "man"]), None);
    assert_eq!(nearest("nope", ["numa.group_prefers_found"]), None);
    assert_eq!(nearest("milan", ["milan-2s-nps1"]).as_deref(), Some("milan-2s-nps1"));
}

#[test]
fn titles_are_one_printable_line() {
    for (title, what) in [
        ("a\\nb", "a.toml:1:9: the title is not one line"),
        ("\\u001b[31m", "a.toml:1:9: `title` has a control character in it"),
        (" ", "a.toml:1:9: `title` is empty"),
    ] {
        let doc = Doc::parse("a.toml", &format!("title = \"{title}\"\n")).unwrap();
        let e = doc.root().title().unwrap_err().to_string();
        assert!(e.starts_with(what), "{e}");
    }
}

#[test]
fn names_and_messages_are_one_line() {
    let doc = Doc::parse("a.toml", "name = \"a\\nb\"\nabout = \"a\\nb\"\n").unwrap();
    let e = doc.root().str("name").unwrap_err().to_string();
    assert_eq!(e, "a.toml:1:8: `name` has a control character in it; expected one line of text that can be printed");
    assert_eq!(doc.root().str("about").unwrap().value, "a\nb", "prose may have several lines");
    let e = SpecError::plain("a\n.toml", "no kernel `x\ny`", "one\nof").near("a\nb", ["a\nc"]);
    assert_eq!(e.to_string(), "a\\n.toml: no kernel `x\\ny`; expected one\\nof; did you mean `a\\nc`?");
}

#[test]
fn whole_numbers_beyond_64_bits_are_refused_with_the_range() {
    for (number, size) in [("99999999999999999999", "large"), ("-99999999999999999999", "small")] {
        let e = Doc::parse("a.toml", &format!("iterations = {number}\n")).unwrap_err().to_string();
        let range = "a whole number from -9223372036854775808 to 9223372036854775807";
        assert_eq!(e, format!("a.toml:1:14: `{number}` is too {size}; expected {range}"));
    }
}

#[test]
fn a_wrong_entry_of_a_list_is_reported_at_its_place() {
    let doc = Doc::parse("a.toml", "k = [\"6.1\", 6.12]\n").unwrap();
    let e = doc.root().strs("k").unwrap_err().to_string();
    assert_eq!(e, "a.toml:1:13: `k` has a number in it; expected a list of strings");
}

#[test]
fn text_that_begins_like_a_number_wants_quotes() {
    for (line, word) in [
        ("mem = 64MiB", "64MiB"),
        ("machines = [2x1x2x1]", "2x1x2x1"),
        ("k = [1, 1.5GiB]", "1.5GiB"),
        ("cost = 0.5ns # each", "0.5ns"),
        ("a.b = { c = 10us }", "10us"),
    ] {
        let e = Doc::parse("a.toml", &format!("{line}\n")).unwrap_err().to_string();
        let want = format!("`{word}` is no number; expected text in quotes: \"{word}\"");
        assert!(e.starts_with("a.toml:1:") && e.ends_with(&want), "{e}");
    }
    for line in ["mem = big", "mem = = 2", "k = [1, 2", "a = 1 b = 2MiB", "s = \"2x1", "2x1 2x2"] {
        let e = Doc::parse("a.toml", &format!("{line}\n")).unwrap_err().to_string();
        assert!(e.contains("valid TOML"), "{line}: {e}");
    }
}

#[test]
fn syntax_and_kind_errors_have_places() {
    let e = Doc::parse("b.toml", "x = 1\ny = = 2\n").unwrap_err();
    assert_eq!(e.line, 2);
    let doc = Doc::parse("c.toml", "[m]\nn = \"five\"\n").unwrap();
    let root = doc.root();
    let m = root.opt_table("m").unwrap().unwrap();
    let e = m.int("n", 1..=9).unwrap_err();
    assert_eq!((e.line, e.column), (2, 5));
    assert!(e.to_string().contains("`m.n` is a string"), "{e}");
}

#[test]
fn the_reason_of_a_syntax_error_is_reported() {
    let said = |text: &str| Doc::parse("a.toml", text).unwrap_err().to_string();
    let twice = said("[tlb]\na = 1\n[tlb]\n");
    assert!(twice.starts_with("a.toml:3:1: ") && twice.contains("duplicate key `tlb`"), "{twice}");
    assert!(!said("a = 1 2\n").contains('\n'));
}

#[test]
fn a_legal_key_that_is_not_asked_for_yet_is_not_suggested() {
    let doc = Doc::parse("a.toml", "sustained_ghz = 3\nllc_stream_gbps = 2\nentries_2m = 4\n").unwrap();
    for key in ["base_ghz", "llc_ns", "entries_4k"] {
        assert_eq!(doc.root().f64(key).unwrap_err().what, format!("`{key}` is missing"));
    }
    let doc = Doc::parse("a.toml", "sustaind_gzh = 3\n").unwrap();
    assert_eq!(
        doc.root().f64("sustained_ghz").unwrap_err().what,
        "`sustained_ghz` is missing (there is `sustaind_gzh`)"
    );
}

#[test]
fn true_is_no_number_but_may_be_a_condition_or_a_setting() {
    let doc = Doc::parse("a.toml", "k = true\nl = [true]\n").unwrap();
    let root = doc.root();
    for e in [root.opt_expr("k").unwrap_err(), root.opt_formula("k").unwrap_err(), root.f64("k").unwrap_err()] {
        assert!(e.to_string().starts_with("a.toml:1:5: `k` is true or false"), "{e}");
    }
    assert!(root.opt_formulas("l").is_err());
    assert_eq!(root.opt_condition("k").unwrap().unwrap().value, "1");
    assert_eq!(root.opt_setting("k").unwrap().unwrap().value, "true");
}

#[test]
fn numbers_with_hundreds_of_digits_are_shown_short() {
    let all = [0.0, -1.5, 300.0, 1e15, 1e300, -2.5e-300].map(shown);
    assert_eq!(all, ["0", "-1.5", "300", "1000000000000000", "1e300", "-2.5e-300"]);
}

/// The test measures time: counting every place from the start of the text takes minutes, also if all is on one line.
#[test]
fn reading_takes_time_in_proportion_to_the_text() {
    let started = std::time::Instant::now();
    let lines: String = (0..60_000).map(|n| format!("key{n} = {n}\n")).collect();
    let doc = Doc::parse("a.toml", &lines).unwrap();
    let root = doc.root();
    let keys = root.keys();
    assert_eq!(keys.iter().map(|k| k.line).max(), Some(60_000));
    keys.iter().for_each(|k| _ = root.f64(&k.value).unwrap());
    root.finish().unwrap();
    let list = format!("k = [{}]\n", "\"n\u{e4}me\", ".repeat(200_000));
    let doc = Doc::parse("a.toml", &list).unwrap();
    let names = doc.root().strs("k").unwrap();
    assert_eq!((names[1].line, names[1].column, names[199_999].column), (1, 14, 6 + 8 * 199_999));
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
