// The form, the request to the server, and the result.

const EXAMPLE = {
  reference: "Moderate left pleural effusion. No pneumothorax. The heart is mildly enlarged.",
  candidate: "Small left pleural effusion. No pneumothorax. Mild pulmonary edema.",
};

const form = el("form", { class: "compare", "aria-label": "Reports to compare" });
const fields = Object.fromEntries(Object.keys(SIDES).map((side) => [side, reportField(side)]));
const textOf = (side) => fields[side].querySelector("textarea");
const statusLine = el("p", { class: "status", role: "status" });
const result = el("section", { id: "result", "aria-label": "Result", tabindex: -1, hidden: true });
const submit = el("button", { class: "primary" }, "Score");

const metricBoxes = metrics.map(({ name, title }) => [
  name,
  el("input", { type: "checkbox", name: "models", value: name, checked: true }),
  title,
]);

const button = (title, onClick) => el("button", { type: "button", class: "more", on: { click: onClick } }, title);

function fill(texts) {
  for (const side of Object.keys(SIDES)) textOf(side).value = texts[side] ?? "";
  result.hidden = true;
  statusLine.textContent = "";
  textOf("reference").focus();
}

// The answer of the server, or an error with its one line.
async function requestScores(request) {
  const response = await fetch("score", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

async function score(event) {
  event.preventDefault();
  const models = metricBoxes.filter(([, box]) => box.checked).map(([name]) => name);
  if (!models.length) return report("Choose at least one metric.", true);
  const pair = Object.fromEntries(Object.keys(SIDES).map((side) => [side, textOf(side).value]));
  submit.disabled = true;
  report("Scoring …");
  try {
    const { pairs } = await requestScores({ models, pairs: [pair], evidence: true });
    showResult(pairs[0]);
    report("");
  } catch (error) {
    result.hidden = true;
    report(error instanceof TypeError ? "The server does not answer." : error.message, true);
  } finally {
    submit.disabled = false;
  }
}

function report(message, failed = false) {
  statusLine.textContent = message;
  statusLine.classList.toggle("bad", failed);
}

function showResult({ scores, texts }) {
  const explaining = Object.keys(scores).filter((name) => scores[name].findings.length);
  const box = el("div", {});
  const showFindings = (name) => {
    const findings = name ? scores[name].findings : [];
    box.replaceChildren();
    add(
      box,
      el("div", { class: "sides" }, comparedReports(texts, findings)),
      findings.some((finding) => isDefined(finding.start))
        ? marksLegend(findings)
        : el("p", { class: "muted" }, "Marked are words that occur in one of the two reports only."),
      findings.length ? findingTable(findings) : null,
      name ? el("details", {}, el("summary", {}, "Evidence"), renderJSON(scores[name].evidence)) : null,
    );
  };
  const options = [...explaining.map((name) => [name, metricOf.get(name).title]), ["", "Words that differ"]];
  result.replaceChildren();
  add(
    result,
    el("h2", {}, "Scores"),
    el("p", { class: "lead" }, "Higher is better. Quality is the share of what is right, from 0 to 1."),
    scoreTable(scores),
    el("div", { class: "panels" }, countTables(scores)),
    el("h2", {}, "Findings"),
    el("div", { class: "tools" }, select("Marked by", options, options[0][0], showFindings)),
    box,
  );
  showFindings(options[0][0]);
  result.hidden = false;
  result.focus({ preventScroll: true });
  result.scrollIntoView({ block: "start", behavior: "auto" });
}

add(
  byId("head"),
  el("p", { class: "kicker" }, "radreward"),
  el("h1", {}, "Compare two reports"),
  el(
    "p",
    { class: "notice" },
    el("b", {}, "For research only. "),
    "Do not base decisions about patients on these scores. Nothing is stored.",
  ),
);
add(
  form,
  el("div", { class: "sides" }, Object.values(fields)),
  el(
    "fieldset",
    {},
    el("legend", {}, "Metrics"),
    metricBoxes.map(([, box, title]) => el("label", { class: "choice" }, box, title)),
  ),
  el(
    "div",
    { class: "tools" },
    submit,
    button("Example", () => fill(EXAMPLE)),
    button("Clear", () => fill({})),
    el("span", { class: "muted" }, "Ctrl+Enter scores. Drop a text file on a field to load it."),
  ),
  statusLine,
);
form.addEventListener("submit", score);
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
byId("controls").remove();
byId("main").append(form, result);
add(byId("foot"), el("p", { class: "muted" }, "The same numbers as ", el("code", {}, "radreward score"), "; as a service: ", el("a", { href: "docs" }, "requests and answers"), "."));
document.documentElement.dataset.ready = "true";
