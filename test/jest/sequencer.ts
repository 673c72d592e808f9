/** The order of the test files: first those that take long, because one that is begun last keeps the others waiting. */
import imported from '@jest/test-sequencer';

/** Its types are those of its form in CommonJS. */
const Sequencer = imported as unknown as (typeof imported)['default'];
type Test = Parameters<InstanceType<typeof Sequencer>['sort']>[0][number];

/** What takes long for its size, longest first: browsers, compilers and several processes. */
const long = ['browser/', 'package/c', 'docs/code', 'examples/', 'faults/', 'tenants/', 'requests/', 'sign-in/', 'adapters/'];

export default class LongestFirst extends Sequencer {
  /** Files with the time of an earlier run go by it. The others come before them if their folder is of the long ones, and after them if not. */
  override async sort(tests: Test[]): Promise<Test[]> {
    const rankOf = ({ path, duration }: Test) => {
      if (duration !== undefined) return long.length;
      const folder = long.findIndex((name) => path.includes(`/test/${name}`));
      return folder === -1 ? long.length + 1 : folder;
    };
    return (await super.sort(tests)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
