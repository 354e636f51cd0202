// Parts of the address, which anybody may have typed.

/** Returns an escaped part of an address as it was, or a part that is not escaped as it is. */
export function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // somebody typed a bare %
  }
}

/** Returns the moment of a parameter in milliseconds since 1970, or other if it has none. */
export function momentOf(text: string | null, other: number): number {
  const at = Number(text);
  return at > 0 && at <= latest ? at : other;
}

const latest = 8.64e15; // a Date holds no later moment
