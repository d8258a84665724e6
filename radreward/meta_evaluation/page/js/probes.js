// What a metric notices when one thing in a report is changed, more and more of it.

const KINDS = { falls: "Errors: should fall", stays: "Same meaning: should stay" };

const probes = {
  id: "probes",
  title: "Probes",
  uses: ["target", "scorer"],
  none: () => (results.probes.length ? null : "No probes were run."),
  lead: () =>
    "Reports changed in one way, in growing doses. A metric should fall with every error and stay where the meaning stays: 1 is right always, 0 never. Below, the mean change of the score by dose, in standard deviations of the metric; the other metrics in grey.",
  draw(node) {
    const entries = keyed(results.probes, "scorer", "probe");
    const kinds = Object.keys(KINDS)
      .map((kind) => [
        kind,
        [...new Set(results.probes.filter((entry) => entry.kind === kind).map((entry) => entry.probe))],
      ])
      .filter(([, names]) => names.length);
    const rows = ranked(state.target)
      .filter(({ name }) => results.probes.some((entry) => entry.scorer === name))
      .map((entry) => [entry.name, entry.title]);
    const columns = kinds.flatMap(([, names]) => names.map((name) => [name, name]));
    const cell = (scorer, probe) => {
      const found = at(entries, scorer, probe);
      if (!found) return null;
      const told = `${titleOf(scorer)}, ${probe}: ${fixed(found.score)}\n${KINDS[found.kind].toLowerCase()}, ${plural(found.n, "report")}${found.note ? `\n${found.note}` : ""}`;
      return { text: brief(found.score), heat: found.score, tip: told };
    };
    add(
      node,
      heatmap("Probes", rows, columns, cell, { parts: kinds.map(([kind, names]) => [KINDS[kind], names.length]) }),
    );
    const every = columns.map(([probe]) => dosePanel(probe, entries)).filter(Boolean);
    if (every.length) add(node, el("h3", {}, `${titleOf(state.scorer)}, by dose`), panels(every, "small"));
    else add(node, el("p", { class: "muted" }, `${titleOf(state.scorer)} was not probed by dose.`));
  },
};

function dosePanel(probe, entries) {
  const found = at(entries, state.scorer, probe);
  if (!found?.doses?.length) return null;
  const same = results.probes.filter((entry) => entry.probe === probe);
  const points = (entry) => [
    [0, 0, "unchanged"],
    ...entry.doses.map(([dose, change]) => [dose, change, `dose ${plain(dose)}: ${signed(change)} SD`]),
  ];
  const every = same.flatMap((entry) => points(entry));
  const series = [
    ...same
      .filter((entry) => entry !== found)
      .map((entry) => ({ class: "s-rest", points: points(entry), line: "only", quiet: true })),
    { class: found.kind === "falls" ? "s0" : "s1", points: points(found), line: true },
  ];
  const xs = [0, Math.max(...every.map(([dose]) => dose)) * 1.04];
  return {
    title: probe,
    note: fixed(found.score),
    ratio: 0.85,
    draw: (width, height) =>
      chart(width, height, series, {
        xs,
        ys: extent([0, ...results.probes.flatMap((entry) => (entry.doses ?? []).map(([, change]) => change))]),
        titles: ["dose", "change, SD"],
        label: `${titleOf(state.scorer)}, ${probe}, by dose`,
      }),
  };
}
