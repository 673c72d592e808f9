/** Exports of `@jest/globals`: the functions of the test file that runs. Modules that import these functions outlive the test file. */
import type * as Jest from '@jest/globals';
import type { Mocks } from './mocks.js';

export let afterAll: typeof Jest.afterAll;
export let afterEach: typeof Jest.afterEach;
export let beforeAll: typeof Jest.beforeAll;
export let beforeEach: typeof Jest.beforeEach;
export let describe: typeof Jest.describe;
export let expect: typeof Jest.expect;
export let it: typeof Jest.it;
export let jest: Mocks;
export let test: typeof Jest.test;

export type Globals = Pick<typeof Jest, 'afterAll' | 'afterEach' | 'beforeAll' | 'beforeEach' | 'describe' | 'expect' | 'it' | 'test'>;

export function setGlobals(globals: Globals, mocks: Mocks): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = globals);
  jest = mocks;
}
