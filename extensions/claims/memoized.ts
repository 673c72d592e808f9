/**
 * Returns a function that computes its result once per object. The directory returns the same groups for a user until one of them changes, and every token
 * needs them. Callers share the result, so a claim is a copy of it: the receiver of a claim may change the claim.
 */
export function memoized<Source extends object, Made>(make: (source: Source) => Made): (source: Source) => Made {
  const results = new WeakMap<Source, Made>();
  return (source) => {
    const cached = results.get(source);
    if (cached !== undefined) return cached;
    const made = make(source);
    results.set(source, made);
    return made;
  };
}
