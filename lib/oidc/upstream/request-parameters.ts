import type { Payload } from './base-model.js';

/** Below as many members V8 keeps an object's shape, however it came to them. */
const FEW = 20;

/**
 * The parameters of a request, in an object that is fast to read. helpers/params.js adds one member after another. An authorization request has so many,
 * most of them undefined, that V8 turns the object into a hash table, and each of the many steps that list them takes several times as long. A copy of
 * an object that has all the members keeps its shape.
 */
export function createShapes(): (params: Payload) => Payload {
  /** By how many members they have: an instance has few lists of parameters. */
  const shapes = new Map<number, { readonly names: readonly string[]; readonly empty: Payload }>();
  return (params) => {
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

/** The parser of JSON gives an object its shape at once. */
const emptyWith = (names: readonly string[]): Payload => JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
