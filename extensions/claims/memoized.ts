/**
 * What is made of an object, kept for as long as the object is there. The directory hands out the same groups for a user until one of them changes, and
 * every token asks for them. Callers share what is made: a claim is a copy of it, because whoever gets a claim may change it.
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
