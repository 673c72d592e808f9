/** The order of the test files: long ones first, because the run waits for a long one that begins last. */
import imported from '@jest/test-sequencer';

/** The class. Its types describe the CommonJS form of the package. */
const Sequencer = imported as unknown as (typeof imported)['default'];
type Test = Parameters<InstanceType<typeof Sequencer>['sort']>[0][number];

/** Paths of tests that take long for their size, longest first: browsers, compilers and several processes. */
const long = ['browser/', 'package/c', 'docs/code', 'examples/', 'faults/', 'tenants/', 'requests/', 'sign-in/', 'adapters/'];

export default class LongestFirst extends Sequencer {
  /**
   * Sorts the files with a time of an earlier run by this time. The other files come before them if their path is in `long`, and after them
   * if not.
   */
  override async sort(tests: Test[]): Promise<Test[]> {
    const rankOf = ({ path, duration }: Test) => {
      if (duration !== undefined) return long.length;
      const folder = long.findIndex((name) => path.includes(`/test/${name}`));
      return folder === -1 ? long.length + 1 : folder;
    };
    return (await super.sort(tests)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
