import type { Payload } from './base-model.js';

/** Number of members below which V8 keeps an object's shape in every case. */
const FEW = 20;

/**
 * Returns the parameters of a request in an object that is fast to read. helpers/params.js adds one member after another. An authorization request has so
 * many members, most of them undefined, that V8 turns the object into a hash table. Each of the many steps that list the members would take several times
 * as long. A copy of an object that has all the members keeps its shape.
 */
export function createShapes(): (params: Payload) => Payload {
  /** Shapes by number of members, because an instance has few lists of parameters. */
  const shapes = new Map<number, { readonly names: readonly string[]; readonly empty: Payload }>();
  return (params) => {
    // Only `emptyParameters` makes plain objects, which have their shape.
    if (Object.getPrototypeOf(params) === Object.prototype) return params;
    const names = Object.keys(params);
    if (names.length < FEW) return params;
    let shape = shapes.get(names.length);
    if (!shape?.names.every((name, index) => name === names[index])) {
      shape = { names, empty: emptyWith(names) };
      shapes.set(names.length, shape);
    }
    const shaped = { ...shape.empty };
    for (const name of shape.names) shaped[name] = params[name];
    return Object.setPrototypeOf(shaped, Object.getPrototypeOf(params));
  };
}

/** Returns an object that has all the names, with undefined as their value. */
export function emptyParameters(names: Iterable<string>): Payload {
  const all = [...names];
  const empty = emptyWith(all);
  for (const name of all) empty[name] = undefined;
  return empty;
}

/** Returns an object from the JSON parser, which gives the object its shape immediately. */
const emptyWith = (names: readonly string[]): Payload => JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
