// Sensitivity tests: change of the score if one aspect of a report is edited, once or several times.

const PROBE_KINDS = { falls: "Errors: score should fall", stays: "Same meaning: score should not change" };

const probes = {
  id: "probes",
  title: "Sensitivity tests",
  dependsOn: ["target", "scorer"],
  emptyReason: () => (results.probes.length ? null : "No sensitivity tests were run."),
  intro: () =>
    "Reports are edited in one way, once or several times (the dose). A score should fall with every error, and stay constant if the meaning does. The table shows how often it does so: 1 is always, 0 is never. Below is the mean change of the score by dose, in standard deviations of the metric; other metrics are in grey.",
  render(node) {
    const entries = indexBy(results.probes, "scorer", "probe");
    const kinds = Object.keys(PROBE_KINDS)
      .map((kind) => [
        kind,
        [...new Set(results.probes.filter((entry) => entry.kind === kind).map((entry) => entry.probe))],
      ])
      .filter(([, names]) => names.length);
    const rows = rankedScorers(state.target)
      .filter(({ name }) => results.probes.some((entry) => entry.scorer === name))
      .map((entry) => [entry.name, entry.title]);
    const columns = kinds.flatMap(([, names]) => names.map((name) => [name, name]));
    const cell = (scorer, probe) => {
      const entry = lookUp(entries, scorer, probe);
      if (!entry) return null;
      const lines = [
        `${scorerTitle(scorer)}, ${probe}: ${fixed(entry.score)}`,
        `${PROBE_KINDS[entry.kind].toLowerCase()}, ${plural(entry.n, "report")}`,
        entry.note,
      ];
      return { text: compact(entry.score), heat: entry.score, tooltip: lines.filter(Boolean).join("\n") };
    };
    const columnGroups = kinds.map(([kind, names]) => [PROBE_KINDS[kind], names.length]);
    add(node, heatmap("Sensitivity tests", rows, columns, cell, { columnGroups }));
    const dosePanels = columns.map(([probe]) => dosePanel(probe, entries)).filter(Boolean);
    if (dosePanels.length)
      add(node, el("h3", {}, `${scorerTitle(state.scorer)}, by dose`), panels(dosePanels, "small"));
    else add(node, el("p", { class: "muted" }, `${scorerTitle(state.scorer)} has no results by dose.`));
  },
};

function dosePanel(probe, entries) {
  const selected = lookUp(entries, state.scorer, probe);
  if (!selected?.doses?.length) return null;
  const sameProbe = results.probes.filter((entry) => entry.probe === probe);
  const pointsOf = (entry) => [
    [0, 0, "unchanged"],
    ...entry.doses.map(([dose, change]) => [dose, change, `dose ${significantDigits(dose)}: ${signed(change)} SD`]),
  ];
  const allPoints = sameProbe.flatMap((entry) => pointsOf(entry));
  const series = [
    ...sameProbe
      .filter((entry) => entry !== selected)
      .map((entry) => ({ class: "s-rest", points: pointsOf(entry), line: "only", inactive: true })),
    { class: selected.kind === "falls" ? "s0" : "s1", points: pointsOf(selected), line: true },
  ];
  return {
    title: probe,
    note: fixed(selected.score),
    ratio: 0.85,
    draw: (width, height) =>
      chart(width, height, series, {
        xRange: [0, Math.max(...allPoints.map(([dose]) => dose)) * 1.04],
        yRange: paddedRange([0, ...results.probes.flatMap((entry) => (entry.doses ?? []).map(([, change]) => change))]),
        titles: ["dose", "change, SD"],
        label: `${scorerTitle(state.scorer)}, ${probe}, by dose`,
      }),
  };
}
