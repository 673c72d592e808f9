import { expect, test } from '@jest/globals';
import Progress from './progress.js';

test('a run reports its files, and each half a minute those that are done and the time that is left', () => {
  const lines: string[] = [];
  let now = 0;
  const progress = new Progress({}, { say: (line) => lines.push(line), now: () => now });
  const results = { numTotalTestSuites: 100, numPassedTestSuites: 0, numFailedTestSuites: 0, numPendingTestSuites: 0 };
  progress.onRunStart(results);
  for (let done = 1; done <= 40; done += 1) {
    now += 3_000;
    progress.onTestResult({}, {}, { ...results, numPassedTestSuites: done - 1, numFailedTestSuites: 1 });
  }
  expect(lines).toEqual([
    'Running 100 test files. All files of this package take 10 to 15 minutes on two cores.',
    '10 of 100 test files are done, 1 failed.',
    '20 of 100 test files are done, 1 failed. At most 4 min left.',
    '30 of 100 test files are done, 1 failed. At most 4 min left.',
    '40 of 100 test files are done, 1 failed. At most 3 min left.',
  ]);
});

test('a run of few files reports nothing', () => {
  const lines: string[] = [];
  let now = 0;
  const progress = new Progress({}, { say: (line) => lines.push(line), now: () => now });
  const results = { numTotalTestSuites: 3, numPassedTestSuites: 1, numFailedTestSuites: 0, numPendingTestSuites: 0 };
  progress.onRunStart(results);
  now += 100_000;
  progress.onTestResult({}, {}, results);
  expect(lines).toEqual([]);
});
