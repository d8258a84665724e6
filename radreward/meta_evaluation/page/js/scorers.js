// What was run, on what, and what went wrong.

const metrics = {
  id: "metrics",
  title: "Metrics",
  uses: [],
  none: () => (results.scorers.length ? null : "No metric was run."),
  lead: () => "What each metric is, what it could not score, and what it took.",
  draw(node) {
    const better = (row) => (known(row.higher_is_better) ? (row.higher_is_better ? "higher" : "lower") : NONE);
    const limit = (value) => (known(value) ? plain(value) : "∞");
    const columns = [
      {
        title: "Metric",
        value: (row) => row.title,
        cell: (row) => [row.title, row.name === row.title ? null : el("small", {}, row.name)],
      },
      { title: "Better", value: better, cell: better },
      {
        title: "Range",
        class: "whole",
        cell: (row) =>
          row.range?.some(known)
            ? `${known(row.range[0]) ? plain(row.range[0]) : "−∞"} to ${limit(row.range[1])}`
            : "open",
      },
      { title: "Scored", numeric: true, value: (row) => row.scored, cell: (row) => count(row.scored) },
      {
        title: "Not scored",
        value: (row) => Object.values(row.unscored).reduce((sum, n) => sum + n, 0),
        cell: (row) => [
          row.reason && el("small", {}, row.reason),
          Object.entries(row.unscored)
            .filter(([reason]) => reason !== row.reason)
            .map(([reason, n]) => el("small", {}, `${count(n)}: ${reason}`)),
        ],
      },
      { title: "Cached", numeric: true, value: (row) => row.cached, cell: (row) => count(row.cached) },
      { title: "Seconds", numeric: true, value: (row) => row.seconds, cell: (row) => fixed(row.seconds, 1) },
      {
        title: "Sub-scores",
        numeric: true,
        value: (row) => row.sub_names.length,
        cell: (row) => row.sub_names.length || "",
      },
      {
        title: "State",
        value: (row) => row.status,
        cell: (row) => (row.status === "ok" ? "ok" : el("b", { class: "bad" }, "failed")),
      },
    ];
    add(
      node,
      wide("Metrics", sortable("metrics", "Metrics that were run", columns, results.scorers, [0, "ascending"])),
    );
  },
};

const dataset = {
  id: "data",
  title: "Data and settings",
  uses: [],
  none: () => null,
  lead: () => "Enough to run this again.",
  draw(node) {
    const { files, systems: names, raters } = results.data;
    const { bootstrap, seed, versions } = results.settings;
    const settings = [
      ...Object.entries(files).map(([path, digest]) => [path, `SHA-256 ${digest}`]),
      ["systems", names.join(", ") || "not told"],
      ["raters", raters.join(", ") || "not told"],
      ["bootstrap samples", count(bootstrap)],
      ["seed", String(seed)],
      ...Object.entries(versions ?? {}).map(([name, version]) => [name, String(version)]),
    ];
    const judged = targets.map((entry) => [
      entry.title,
      [`${plural(entry.pairs, "pair")}, ${direction(entry)}`, ...entry.notes].join("; "),
    ]);
    add(node, el("h3", {}, "People’s judgements"), terms(judged), el("h3", {}, "Files and settings"), terms(settings));
  },
};

const terms = (entries) =>
  el(
    "dl",
    { class: "terms" },
    entries.map(([term, told]) => [el("dt", {}, term), el("dd", {}, told)]),
  );
