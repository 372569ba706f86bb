//! Steps that are refused: what they access, and how.

use super::bad::{body, phase, HEAD, WORK};
use crate::workload::machines::machine;
use numalab_model::access::Histogram;
use numalab_model::workload::parse;

#[test]
fn hugetlb_pages_are_only_accessed() {
    let region = |keys: &str, step: &str| {
        format!(
            "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"64MiB\"\n{keys}\n\
             [[process.phase]]\n{step}\n"
        )
    };
    let huge = "kind = \"hugetlb\"";
    for step in ["discard = \"^r\"", "move_pages = \"^r\"\nto = 0", "direct_io = \"^r\"\nlatency = \"1us\""] {
        body(&region(huge, step), &["hugetlb pages", "expected `access`"]);
    }
    let access = "access = \"r\"";
    body(&region("pool = \"^64MiB\"", access), &["`pool`", "`kind = \"hugetlb\"`"]);
    body(&region("kind = \"hugetlb\"\npool = \"^4MiB\"", access), &["at least 16MiB on each of 4 nodes", "ENOMEM"]);
    for key in ["misalign = \"4KiB\"", "advice = \"huge\"", "pinned = true"] {
        let name = key.split(' ').next().unwrap();
        let text = region(&format!("{huge}\n{key}"), access).replacen("[[process.region]]", "^[[process.region]]", 1);
        body(&text, &[&format!("hugetlb pages and `{name}`")]);
    }
    let child = format!("{}[[process]]\nname = \"^c\"\nparent = \"p\"\n{WORK}", region(huge, access));
    body(&child, &["process `c` inherits `r`, which has hugetlb pages"]);
}

#[test]
fn reads_go_from_a_file_to_a_buffer() {
    let process = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"f\"\nsize = \"1MiB\"\nkind = \"file\"\n\
         [[process.region]]\nname = \"b\"\nsize = \"64KiB\"\n";
    let read = |step: &str, parts: &[&str]| body(&format!("{process}[[process.phase]]\n{step}\n"), parts);
    body(&format!("{process}^[[process.phase]]\nread = \"f\"\n"), &["into` is missing", "the buffer"]);
    read("read = \"^b\"\ninto = \"b\"", &["reads a region that is no file", "kind `file`"]);
    read("read = \"f\"\ninto = \"^f\"", &["reads into a file", "kind `anon`"]);
    read("read = \"f\"\ninto = \"^bb\"", &["unknown region `bb`", "did you mean `b`?"]);
    read("read = \"f\"\ninto = \"b\"\nbytes = \"^128KiB\"", &["`bytes` is 131072 of 65536", "at most the buffer"]);
    read("read = \"^f\"\ninto = \"b\"\noffset = \"100B\"", &["a read from byte 100", "a multiple of 4KiB"]);
}

#[test]
fn direct_io_has_whole_pages_and_a_time() {
    phase("direct_io = \"buffer\"\nlatency = \"^0us\"\n", &["`latency` is 0ns", "at least 1ns"]);
    let process = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"buffer\"\nsize = \"1MiB\"\n";
    body(&format!("{process}^[[process.phase]]\ndirect_io = \"buffer\"\n"), &["latency` is missing"]);
    phase(
        "direct_io = \"bufer\"\nlatency = \"1us\"\n".replace("\"bufer", "\"^bufer").as_str(),
        &["did you mean `buffer`?"],
    );
    let io = "direct_io = \"buffer\"\nlatency = \"1us\"\n";
    phase(&format!("{io}bytes = \"^6000B\"\n"), &["`bytes` is 6000 of 1048576 bytes", "a multiple of 4KiB"]);
    phase(&format!("{io}bytes = \"^2MiB\"\n"), &["`bytes` is 2097152 of 1048576 bytes"]);
    phase(&format!("{io}io = \"^scan\"\n"), &["`io`", "read, write"]);
    phase(
        "direct_io = \"^buffer\"\nlatency = \"1us\"\noffset = \"100B\"\n",
        &["direct I/O from byte 100", "a multiple of 4KiB"],
    );
    phase(&format!("{io}^write = 1\n"), &["unknown key `process[0].phase[0].write`"]);
}

#[test]
fn pages_move_to_nodes_that_can_take_them() {
    let process = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"buffer\"\nsize = \"1MiB\"\n";
    body(&format!("{process}^[[process.phase]]\nmove_pages = \"buffer\"\n"), &["to` is missing", "a list such as"]);
    phase("move_pages = \"buffer\"\nto = ^99\n", &["moves pages to node 99", "nodes 0 to"]);
    phase("move_pages = \"^bufer\"\nto = 0\n", &["did you mean `buffer`?"]);
    phase("move_pages = \"^buffer\"\nto = 0\noffset = \"2MiB\"\n", &["of a region of 1048576"]);
    phase("move_pages = \"buffer\"\nto = 0\n^write = 1\n", &["unknown key `process[0].phase[0].write`"]);
    let inside = process.replace("name = \"p\"\n", "name = \"p\"\ncpuset = { mems = 0 }\n");
    body(
        &format!("{inside}[[process.phase]]\nmove_pages = \"buffer\"\nto = ^1\n"),
        &["node 1 is not in the cpuset", "EACCES"],
    );
}

#[test]
fn pinned_regions_stay_with_one_process() {
    let region =
        |more: &str| format!("[[process]]\nname = \"p\"\n[[process.region]]\nname = \"r\"\nsize = \"1MiB\"\n{more}\n");
    body(
        &format!("{}{WORK}", region("kind = \"file\"\npinned = ^true")),
        &["a file and pinned", "`anon`, `shared` or `data`"],
    );
    let child = "[[process]]\nname = \"c\"\nparent = \"p\"\n";
    body(
        &format!("{}{WORK}{child}{WORK}", region("pinned = ^true")),
        &["region `r` is pinned, and process `c` inherits it"],
    );
    let discard = "[[process.phase]]\ndiscard = \"^r\"\n";
    body(&format!("{}{discard}", region("pinned = true")), &["gives back pages that are pinned"]);
}

/// A step that draws from a histogram needs one: of the file that the workload names, read by who has it.
#[test]
fn histograms_must_be_there() {
    let step = "access = \"^buffer\"\npattern = \"recorded\"\naccesses = 5\nblock = \"64B\"\nvisit = 2\n";
    phase(step, &["the workload names none", "`histograms = \"FILE\"`"]);
    let process = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"buffer\"\nsize = \"1MiB\"\n";
    let rest = format!("{process}[[process.phase]]\n{step}");
    body(&format!("histograms = \"a.arrow\"\n{rest}"), &["`a.arrow`, which is not here", "with that file beside it"]);
    body(&format!("histograms = ^\"\"\n{rest}").replace("\"^buffer", "\"buffer"), &["`histograms` is empty"]);
    phase(&step.replace("\"^buffer", "\"buffer").replace("visit = 2", "visit = ^1.5"), &["`visit` is 1.5", "whole"]);
    phase(&step.replace("\"^buffer", "\"buffer").replace("visit = 2", "visit = ^4096"), &["`visit` is 4096", "4095"]);
    let text = format!("{HEAD}histograms = \"a.arrow\"\n{}", rest.replace('^', ""));
    let two: Vec<Histogram> = [vec![1], vec![0, 3]].into_iter().flat_map(Histogram::try_from).collect();
    let spec = parse("w.toml", &text).expect("a workload").with_histograms(two.into());
    let e = spec.resolve(&machine("e7-4807-4s"), 1, &[]).expect_err("two histograms").to_string();
    assert!(e.contains("visit 2 of 2") && e.contains("`visit` from 0 to 1"), "{e}");
    let right = text.replace("visit = 2", "visit = 1");
    let two = spec.histograms().to_vec();
    let spec = parse("w.toml", &right).expect("a workload").with_histograms(two.into());
    let w = spec.resolve(&machine("e7-4807-4s"), 1, &[]).expect("it is right");
    assert_eq!((w.histograms.len(), spec.histograms_file().map(|f| f.value.as_str())), (2, Some("a.arrow")));
}

#[test]
fn access_values_are_checked() {
    phase("access = \"buffer\"\nwrite = ^1.5\n", &["`write` is 1.5", "a share from 0 to 1"]);
    phase("access = \"buffer\"\ncost = \"^-1ns\"\n", &["`cost` is -1ns"]);
    phase("access = \"buffer\"\npattern = \"strided\"\nstride = \"^32B\"\n", &["`stride` is 32B", "from 64B"]);
    phase("access = \"buffer\"\npattern = \"zipf\"\naccesses = 5\ntheta = ^0\n", &["`theta` is 0", "above 0"]);
    phase("access = \"buffer\"\npattern = \"reuse\"\naccesses = 5\nalpha = ^3\n", &["`alpha` is 3", "0.1 to 2"]);
    let missing = |keys: &str, part: &str| {
        let text = format!(
            "{HEAD}[[process]]\nname = \"p\"\n[[process.region]]\nname = \"m\"\n\
         size = \"4KiB\"\n[[process.phase]]\naccess = \"m\"\n{keys}\n"
        );
        let e = parse("w.toml", &text).expect_err(part);
        assert!(e.to_string().contains(part) && e.line == 10, "{e}");
    };
    missing("pattern = \"random\"", "`process[0].phase[0].accesses` is missing");
    missing("pattern = \"strided\"", "`process[0].phase[0].stride` is missing");
    let file = "[[process]]\nname = \"p\"\n[[process.region]]\nname = \"f\"\nkind = \"file\"\nsize = \"4KiB\"\n";
    body(
        &format!(
            "{file}[[process.phase]]\naccess = \"^f\"\n\
     write = 0.1\n"
        ),
        &["writes to a read-only file mapping"],
    );
    let score = "[[score]]\nname = \"s\"\nunit = \"u\"\nbetter = \"higher\"\n[[process]]\nname = \"p\"\n";
    body(
        &format!("{score}[[process.phase]]\nscore = \"s\"\namount = ^-1\n"),
        &["`amount` is -1", "a number from 0 to 9007199254740992"],
    );
    // A score whose sum is infinite would be refused only at the end of the run, by the writer of its record.
    body(
        &format!("{score}[[process.phase]]\nscore = \"s\"\namount = ^1e308\n"),
        &["`amount` is 1e308; expected a number from 0 to 9007199254740992"],
    );
}
