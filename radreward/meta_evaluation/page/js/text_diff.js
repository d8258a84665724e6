// Which words of two texts differ: those that are not in the longest common subsequence.

const CELLS = 4e7;

// [[text, differs], …] for each side, or null where the texts are too long to compare.
function differingWords(one, other) {
  const sides = [one, other].map((text) => text.match(/[\p{L}\p{N}]+|\s+|[^\p{L}\p{N}\s]/gu) ?? []);
  const words = sides.map((tokens) =>
    tokens.map((token, place) => [token.toLowerCase(), place]).filter(([token]) => token.trim()),
  );
  const [left, right] = words;
  if (left.length * right.length > CELLS) return null;
  const kept = common(
    left.map(([word]) => word),
    right.map(([word]) => word),
  );
  return sides.map((tokens, side) => {
    const same = new Set(kept.map((match) => words[side][match[side]][1]));
    return joined(tokens.map((token, place) => [token, token.trim() !== "" && !same.has(place)]));
  });
}

function common(left, right) {
  const width = right.length + 1;
  const length = new Uint16Array((left.length + 1) * width); // of what follows, from the end
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      length[i * width + j] =
        left[i] === right[j]
          ? length[(i + 1) * width + j + 1] + 1
          : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const matches = [];
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) matches.push([i++, j++]);
    else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) i++;
    else j++;
  }
  return matches;
}

// Neighbours that both differ become one, with the space between them.
function joined(parts) {
  const found = [];
  for (const [place, [text, differs]] of parts.entries()) {
    const between = !text.trim() && found.at(-1)?.[1] && parts[place + 1]?.[1];
    const own = differs || Boolean(between);
    if (found.length && found.at(-1)[1] === own) found.at(-1)[0] += text;
    else found.push([text, own]);
  }
  return found;
}
