// The requests and answers of the service, from its OpenAPI document.

const { openapi } = JSON.parse(byId("data").textContent);
const schemas = openapi.components.schemas;
const nameOf = (reference) => reference.split("/").at(-1);

// The type of a schema as text and links, such as "list of PairRequest" or "number or null".
function typeOf(schema) {
  if (schema.$ref) return el("a", { href: `#${nameOf(schema.$ref)}` }, nameOf(schema.$ref));
  if (schema.anyOf) return schema.anyOf.map((part, index) => [index ? " or " : "", typeOf(part)]);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.prefixItems) return ["[", schema.prefixItems.map((part, index) => [index ? ", " : "", typeOf(part)]), "]"];
  if (schema.type === "array") return ["list of ", typeOf(schema.items)];
  if (schema.additionalProperties) return ["object of ", typeOf(schema.additionalProperties)];
  return schema.type ?? "any JSON";
}

function table(label, titles, rows) {
  const head = titles.map((title) => el("th", { scope: "col" }, title));
  const body = rows.map(([first, ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, first), cells.map((cell) => el("td", {}, cell))),
  );
  return scrollBox(
    label,
    el("table", { class: "parts" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
  );
}

function fieldRow([name, field], required) {
  const isGiven = "default" in field && field.default !== null;
  const detail = [field.description, isGiven ? `Default: ${JSON.stringify(field.default)}.` : null];
  return [el("code", {}, name), typeOf(field), required ? "required" : "", detail.filter(Boolean).join(" ")];
}

const schemaSection = ([name, { description, properties = {}, required = [] }]) =>
  el(
    "section",
    { id: name },
    el("h3", {}, name),
    el("p", {}, description),
    table(
      name,
      ["Field", "Type", "", "Meaning"],
      Object.entries(properties).map((entry) => fieldRow(entry, required.includes(entry[0]))),
    ),
  );

const contentType = ({ content }) => (content ? typeOf(content["application/json"].schema) : "");

function operationSection(path, [method, { description, requestBody, responses }]) {
  const rows = Object.entries(responses).map(([status, response]) => [status, response.description, contentType(response)]);
  return el(
    "section",
    { class: "operation" },
    el("h2", {}, el("code", {}, `${method.toUpperCase()} ${path}`)),
    el("p", {}, description),
    requestBody ? el("p", {}, "Body, as application/json: ", contentType(requestBody)) : null,
    table("Answers", ["Status", "Meaning", "Body"], rows),
  );
}

add(
  byId("head"),
  el("p", { class: "kicker" }, "radreward"),
  el("h1", {}, "Requests and answers"),
  el("p", {}, openapi.info.summary),
);
byId("controls").remove();
add(
  byId("main"),
  Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map((entry) => operationSection(path, entry)),
  ),
  el("h2", {}, "Bodies"),
  Object.entries(schemas)
    .filter(([name]) => !name.endsWith("ValidationError"))
    .map(schemaSection),
);
add(byId("foot"), el("p", { class: "muted" }, el("a", { href: "./" }, "Compare two reports"), " · ", el("a", { href: "openapi.json" }, "openapi.json")));
document.documentElement.dataset.ready = "true";
