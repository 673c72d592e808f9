import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import Params from 'oidc-provider/lib/helpers/params.js';
import { createShapes } from '../../../lib/oidc/upstream/request-parameters.js';
import { expectInOrder, hooked, type Untyped } from './pinned.js';

setFlagsFromString('--allow-natives-syntax');
const hasShape = runInThisContext('(object) => %HasFastProperties(object)') as (object: object) => boolean;

const many = new Set(Array.from({ length: 30 }, (_, index) => `parameter_${index}`));

/** Returns parameters after 20 others, because V8 also takes the shape from the first objects of a class, until V8 knows their size. */
const paramsOf = (names: ReadonlySet<string>, given: Record<string, string>): Untyped => {
  for (let index = 0; index < 20; index += 1) new Params(names, {});
  return new Params(names, given);
};

test('parameters are an instance of Params, made of one member after another', () => {
  expectInOrder('helpers/params.js', 'allowList.forEach((prop) => {', 'this[prop] = params[prop] || undefined;', 'toPlainObject()');
  expectInOrder('shared/assemble_params.js', 'ctx.oidc.params = new Params(allowList, params);\n  return next();');
  expect(hasShape(paramsOf(many, { parameter_3: 'x' }))).toBe(false);
});

test('many of them keep their shape, and are what they were', () => {
  const shaped = createShapes();
  for (const given of [{ parameter_3: 'x' }, { parameter_29: 'y', parameter_0: 'z' }]) {
    const params = paramsOf(many, given);
    const copy: Untyped = shaped(params);
    expect(hasShape(copy)).toBe(true);
    expect(Object.entries(copy)).toEqual(Object.entries(params));
    expect(copy.toPlainObject()).toEqual(given);
    expect(copy).toBeInstanceOf(Params);
  }
});

test('lists of as many other members do not mix, and few stay as they are', () => {
  const shaped = createShapes();
  const others = new Set([...many].map((name) => name.replace('1', 'i')));
  for (const names of [many, others, many]) {
    const copy = shaped(paramsOf(names, { parameter_2: 'x' }));
    expect(Object.keys(copy)).toEqual([...names]);
    expect(copy.parameter_2).toBe('x');
  }
  const few = new Params(new Set(['scope']), { scope: 'openid' }) as Untyped;
  expect(shaped(few)).toBe(few);
});

test('a context shapes the parameters that it is given', () => {
  const context: Untyped = new hooked.OIDCContext({ req: {}, method: 'GET', query: {} });
  context.params = paramsOf(many, { parameter_3: 'x' });
  expect([hasShape(context.params), context.params.parameter_3]).toEqual([true, 'x']);
});
