// Words that differ between two texts: those outside their longest common subsequence.

const MAX_TABLE_CELLS = 4e7;

// [[text, differs], …] per side, or null if the texts are too long to compare.
function diffWords(reference, candidate) {
  const sides = [reference, candidate].map((text) => text.match(/[\p{L}\p{N}]+|\s+|[^\p{L}\p{N}\s]/gu) ?? []);
  const words = sides.map((tokens) =>
    tokens.map((token, index) => [token.toLowerCase(), index]).filter(([token]) => token.trim()),
  );
  const [left, right] = words;
  if (left.length * right.length > MAX_TABLE_CELLS) return null;
  const matches = longestCommonSubsequence(
    left.map(([word]) => word),
    right.map(([word]) => word),
  );
  return sides.map((tokens, side) => {
    const common = new Set(matches.map((match) => words[side][match[side]][1]));
    return mergeSegments(tokens.map((token, index) => [token, token.trim() !== "" && !common.has(index)]));
  });
}

// [left index, right index] per common word.
function longestCommonSubsequence(left, right) {
  const width = right.length + 1;
  const length = new Uint16Array((left.length + 1) * width); // of the remaining words, filled from the end
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

// Merge adjacent segments of one kind; a space between two differing words differs too.
function mergeSegments(segments) {
  const merged = [];
  for (const [index, [text, differs]] of segments.entries()) {
    const between = !text.trim() && merged.at(-1)?.[1] && segments[index + 1]?.[1];
    const marked = differs || Boolean(between);
    if (merged.length && merged.at(-1)[1] === marked) merged.at(-1)[0] += text;
    else merged.push([text, marked]);
  }
  return merged;
}
