/**
 * Checks of the values that functions of extensions return, for extensions written without a compiler. If a value is wrong, the start fails. The error
 * names the extension and the member.
 */
import { isFunction, isObject, type OptionPath, valueAt, wrong } from '../../config-problem.js';
import { ConfigError } from '../../errors.js';

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === 'string');
const has = (value: unknown, holds: (member: unknown) => boolean, ...names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => holds(valueAt(value, [name])));

const participantMembers = ['notices', 'send', 'frames', 'visit', 'unanswered'] as const;

const forms = {
  impersonation: [
    'an object with the functions mayGoOn and ending: { mayGoOn, ending }',
    (value) => has(value, isFunction, 'mayGoOn', 'ending'),
  ],
  clients: ['an object with the function find: { find }', (value) => has(value, isFunction, 'find')],
  clientEndpoints: [
    'an object with grantType, a list of parameters, and the function answer: { grantType, parameters, answer }',
    (value) =>
      has(value, isFunction, 'answer') && has(value, isNames, 'parameters') && has(value, (name) => typeof name === 'string', 'grantType'),
  ],
  grantTypes: [
    'an object with a list of parameters, and the function exchange: { parameters, exchange }',
    (value) => has(value, isFunction, 'exchange') && has(value, isNames, 'parameters'),
  ],
  jobs: [
    'a list of jobs, each with a name and the function run: [{ name, intervalSeconds, run }]',
    (value) =>
      Array.isArray(value) && value.every((job) => has(job, isFunction, 'run') && has(job, (name) => typeof name === 'string', 'name')),
  ],
  logoutParticipant: [
    `an object whose ${participantMembers.join(', ')} are functions if they are set: { notices, send }`,
    (value) => has(value, (member) => member === undefined || isFunction(member), ...participantMembers),
  ],
} as const satisfies Readonly<Record<string, readonly [expected: string, holds: (value: unknown) => boolean]>>;

/**
 * Returns the value if it has the member's form.
 * @param within path of the value in the member
 * @throws ConfigError `invalid_options`
 */
export function answered<T>(extension: string, member: keyof typeof forms, value: T, within: OptionPath = []): T {
  const [expected, holds] = forms[member];
  if (!holds(value)) throw new ConfigError('invalid_options', [wrong(['extensions', extension, member, ...within], expected, value)]);
  return value;
}
