/**
 * The outcome of a run of Jest, from its reports: of the run, and of a second run of the files that failed in the first.
 *
 *   node .ci/outcome.mjs failed <first>           the files that failed, a line for each
 *   node .ci/outcome.mjs unsteady <first> <second>  the tests that failed in the first run only, a line for each
 *   node .ci/outcome.mjs counts <first> [second]  the numbers of tests that passed and failed; a second run of a file replaces the first
 */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [what, ...reports] = process.argv.slice(2);
const [first = [], second = []] = reports.map((file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).testResults : []));

const hasFailed = ({ status }) => status === 'failed';
const testsOf = ({ assertionResults }, status) => assertionResults.filter((test) => test.status === status);
const nameOf = ({ name }) => relative('', name);

/** Returns the failures by name. A file that does not load, or whose process dies, counts as one. */
const failuresOf = (file) => {
  const names = testsOf(file, 'failed').map(({ fullName }) => `${nameOf(file)}: ${fullName}`);
  return hasFailed(file) && names.length === 0 ? [`${nameOf(file)}: the file as a whole`] : names;
};

const outcomes = {
  failed: () => first.filter(hasFailed).map(nameOf),
  unsteady() {
    const again = second.flatMap(failuresOf);
    const files = second.map(nameOf);
    return first.filter((file) => files.includes(nameOf(file))).flatMap((file) => failuresOf(file).filter((name) => !again.includes(name)));
  },
  counts() {
    const files = [...new Map([...first, ...second].map((file) => [file.name, file])).values()];
    return [`${files.flatMap((file) => testsOf(file, 'passed')).length} ${files.flatMap(failuresOf).length}`];
  },
};

process.stdout.write(
  outcomes[what]()
    .map((line) => `${line}\n`)
    .join(''),
);
