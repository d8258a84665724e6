// The cases of the page, the entry of a rater for each case, and the order in which a rater sees the cases.

const data = JSON.parse(byId("data").textContent);
const SCALE = ["Misleads care", "Major errors", "Errors that matter", "Minor errors only", "As good as the reference"];
const KEYS = Array.from("abcdefghijklmoqrtvwxyz"); // without n, p, s and u, which have other meanings
const SIDES = { reference: "Reference", candidate: "Candidate" };
const criteria = data.criteria.map((criterion, index) => ({ ...criterion, key: KEYS[index] }));
const criterionOf = new Map(criteria.map((criterion) => [criterion.tag, criterion]));

const emptyEntry = () => ({ rating: null, errors: [], note: "" });
const isRated = ({ rating }) => rating !== null;
const isStarted = ({ rating, errors, note }) => rating !== null || errors.length > 0 || note !== "";
const numRated = (entries) => entries.filter(isRated).length;
const isEqual = (left, right) => JSON.stringify(left) === JSON.stringify(right);

// Names of raters are compared without case and repeated spaces.
const cleanName = (name) => name.normalize("NFC").trim().replaceAll(/\s+/gu, " ");
const nameKey = (name) => cleanName(name).toLowerCase();

// The entries of a file or of the browser's storage, in the form of this page; null if they are not of this page.
function parseEntries(value) {
  if (!Array.isArray(value) || value.length !== data.cases.length) return null;
  const entries = value.map((entry, index) => parseEntry(entry, data.cases[index]));
  return entries.includes(null) ? null : entries;
}

function parseEntry(value, texts) {
  if (typeof value !== "object" || value === null) return null;
  const { rating, errors, note } = value;
  const isScale = rating === null || (Number.isInteger(rating) && rating >= 1 && rating <= SCALE.length);
  if (!isScale || typeof note !== "string" || !Array.isArray(errors)) return null;
  const parsed = errors.map((error) => parseError(error, texts));
  return parsed.includes(null) ? null : { rating, errors: parsed, note };
}

function parseError(value, texts) {
  if (typeof value !== "object" || value === null) return null;
  const { criterion, significant, side, start, end } = value;
  if (!criterionOf.has(criterion) || typeof significant !== "boolean") return null;
  if (side === null) return { criterion, significant, side, start: null, end: null, text: "" };
  if (!Object.hasOwn(SIDES, side)) return null;
  const characters = Array.from(texts[side]);
  const isSpan = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= characters.length;
  return isSpan ? { criterion, significant, side, start, end, text: characters.slice(start, end).join("") } : null;
}

// FNV-1a over UTF-8 with the finalizer of MurmurHash3: 32 bits, equal in every browser.
function hash(text) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

// Indices of the cases in the order of a rater, which depends on the name and the digest only.
function caseOrder(rater) {
  const keys = data.cases.map((_, index) => hash(`${data.digest} ${nameKey(rater)} ${index}`));
  return [...keys.keys()].sort((a, b) => keys[a] - keys[b] || a - b);
}
