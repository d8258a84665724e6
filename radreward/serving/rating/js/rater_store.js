// Ratings in the browser, one item per digest and rater, so that raters and files never share one.

const PREFIX = `radreward-ratings-${data.digest}-`;
const DAMAGED_PREFIX = `radreward-damaged-${data.digest}-`;
const storageKey = (rater) => PREFIX + nameKey(rater);

// {rater, entries}, or null if the text is not what this page stores.
function parseStored(text) {
  try {
    const { rater, entries } = JSON.parse(text);
    const parsed = parseEntries(entries);
    return typeof rater === "string" && parsed ? { rater, entries: parsed } : null;
  } catch {
    return null;
  }
}

// What is stored for a rater; null if nothing is. An unreadable item is set aside, not overwritten.
function readRater(rater) {
  try {
    const text = localStorage.getItem(storageKey(rater));
    if (text === null) return null;
    const stored = parseStored(text);
    if (!stored) {
      localStorage.setItem(DAMAGED_PREFIX + nameKey(rater), text);
      localStorage.removeItem(storageKey(rater));
      announce(`The ratings of ${rater} in this browser cannot be read. Open your last exported file to continue.`);
    }
    return stored;
  } catch {
    return null; // writeRater reports that this browser cannot store
  }
}

// Returns false if the browser cannot store.
function writeRater(rater, entries) {
  try {
    localStorage.setItem(storageKey(rater), JSON.stringify({ rater, entries }));
    return true;
  } catch {
    return false;
  }
}

// {rater, entries} of everybody who started in this browser, by name.
function storedRaters() {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    const stored = keys.map((key) => parseStored(localStorage.getItem(key))).filter(Boolean);
    return stored.sort((a, b) => a.rater.localeCompare(b.rater));
  } catch {
    return [];
  }
}
