// Metrics that were run, with failures and missing scores; data and settings.

const metrics = {
  id: "metrics",
  title: "Metrics",
  dependsOn: [],
  emptyReason: () => (results.scorers.length ? null : "No metric was run."),
  intro: () => "Direction and range of each metric, pairs without a score, and running time.",
  render(node) {
    const direction = (row) => (isDefined(row.higher_is_better) ? (row.higher_is_better ? "higher" : "lower") : NONE);
    const bound = (value, infinity) => (isDefined(value) ? significantDigits(value) : infinity);
    const columns = [
      {
        title: "Metric",
        value: (row) => row.title,
        cell: (row) => [row.title, row.name === row.title ? null : el("small", {}, row.name)],
      },
      { title: "Better", value: direction, cell: direction },
      {
        title: "Range",
        class: "nowrap",
        cell: (row) =>
          row.range?.some(isDefined) ? `${bound(row.range[0], "−∞")} to ${bound(row.range[1], "∞")}` : "unbounded",
      },
      { title: "Scored", numeric: true, value: (row) => row.num_scored, cell: (row) => count(row.num_scored) },
      {
        title: "Not scored",
        value: (row) => Object.values(row.unscored_reasons).reduce((sum, n) => sum + n, 0),
        cell: (row) => [
          row.failure && el("small", {}, row.failure),
          Object.entries(row.unscored_reasons)
            .filter(([reason]) => reason !== row.failure)
            .map(([reason, n]) => el("small", {}, `${count(n)}: ${reason}`)),
        ],
      },
      { title: "Seconds", numeric: true, value: (row) => row.seconds, cell: (row) => fixed(row.seconds, 1) },
      {
        title: "Sub-scores",
        numeric: true,
        value: (row) => row.sub_names.length,
        cell: (row) => row.sub_names.length || "",
      },
      {
        title: "Status",
        value: (row) => row.status,
        cell: (row) => (row.status === "ok" ? "ok" : el("b", { class: "bad" }, "failed")),
      },
    ];
    add(
      node,
      scrollBox("Metrics", sortable("metrics", "Metrics that were run", columns, results.scorers, [0, "ascending"])),
    );
  },
};

const dataset = {
  id: "data",
  title: "Data and settings",
  dependsOn: [],
  emptyReason: () => null,
  intro: () => "Everything needed to repeat this benchmark.",
  render(node) {
    const { files, systems: systemNames, raters } = results.data;
    const { n_resamples, n_permutations, seed, versions } = results.settings;
    const settings = [
      ...Object.entries(files).map(([path, digest]) => [path, `SHA-256 ${digest}`]),
      ["systems", systemNames.join(", ") || "not specified"],
      ["raters", raters.join(", ") || "not specified"],
      ["bootstrap resamples", count(n_resamples)],
      ["permutations", count(n_permutations)],
      ["seed", String(seed)],
      ...Object.entries(versions ?? {}).map(([name, version]) => [name, String(version)]),
    ];
    const descriptions = targets.map((entry) => [
      entry.title,
      [`${plural(entry.pairs, "pair")}, ${directionText(entry)}`, ...entry.notes].join("; "),
    ]);
    const leftOut = SECTIONS.map((section) => [section.title, section.emptyReason()]).filter(([, reason]) => reason);
    if (leftOut.length) add(node, el("h3", {}, "Sections left out"), termList(leftOut));
    add(node, el("h3", {}, "Targets"), termList(descriptions), el("h3", {}, "Files and settings"), termList(settings));
  },
};

const termList = (entries) =>
  el(
    "dl",
    { class: "terms" },
    entries.map(([term, description]) => [el("dt", {}, term), el("dd", {}, description)]),
  );
