// The cases, the ratings, and their copy in the browser.

const data = JSON.parse(byId("data").textContent);
const STORAGE_KEY = `radreward-ratings-${data.digest}`;
const SCALE = ["Misleads care", "Major errors", "Errors that matter", "Minor errors only", "As good as the reference"];
const KEYS = Array.from("abcdefghijklmoqrtuvwxyz"); // without n, p and s, which have other meanings
const criteria = data.criteria.map((criterion, index) => ({ ...criterion, key: KEYS[index] }));
const criterionOf = new Map(criteria.map((criterion) => [criterion.tag, criterion]));

const emptyRating = () => ({ rating: null, errors: [], note: "" });
const state = { rater: "", index: 0, ratings: data.cases.map(emptyRating), saved: true };
const current = () => state.ratings[state.index];
const numRated = () => state.ratings.filter(({ rating }) => rating !== null).length;

// Store the ratings in the browser under the digest of the cases; if that fails, the page says so.
function save() {
  try {
    const { rater, index, ratings } = state;
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ rater, index, ratings }));
    state.saved = true;
  } catch {
    state.saved = false;
  }
}

function restore() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY));
    if (stored) Object.assign(state, stored);
  } catch {
    state.saved = false;
  }
}

const exported = () => ({
  format: data.format,
  digest: data.digest,
  rater: state.rater.trim(),
  criteria: criteria.map(({ tag }) => tag),
  cases: data.cases.map((entry, index) => ({ ...entry, ...state.ratings[index] })),
});

// Continue with an exported file, on another computer; returns the reason if its cases differ.
function imported(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    return "Expected a file that this page exported.";
  }
  if (file?.format !== data.format || file.digest !== data.digest)
    return "Expected a file that this page exported, of the same cases.";
  state.rater = file.rater;
  state.ratings = file.cases.map(({ rating, errors, note }) => ({ rating, errors, note }));
  return null;
}
