/** A value that an earlier phase uses and a later phase gives. */
export interface Late<T> {
  /** @throws TypeError before the value was given. */
  readonly value: T;
  /** @throws TypeError if the value was given before. */
  give(value: T): void;
}

/** @param name of the value, for the error. */
export function late<T>(name: string): Late<T> {
  let given: { readonly value: T } | undefined;
  return {
    get value() {
      if (!given) throw new TypeError(`A later phase of the start gives ${name}. Use them after that phase.`);
      return given.value;
    },
    give(value) {
      if (given) throw new TypeError(`An earlier phase of the start gave ${name}. Give them once.`);
      given = { value };
    },
  };
}
