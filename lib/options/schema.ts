/** The shape of the options, checked as a whole. */
import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { missing, type OptionPath, valueAt, withMeant, wrong } from '../config-problem.js';
import { locales } from '../contract/locales.js';
import type { ConfigProblem } from '../errors.js';
import { DAY_SECONDS } from './defaults.js';
import type * as options from './options.js';
import * as values from './values.js';

/** An object that knows exactly the members of `T`, all optional unless named. */
const closed = <T>(members: Record<keyof T, TSchema>, ...required: (keyof T & string)[]): TObject => ({
  ...Type.Object(members, { additionalProperties: false, expected: 'an object' }),
  required,
});

/** Something that has what we use (`name`) and can do what we call (`send()`); whatever else it has is its own business. */
const instance = (expected: string, ...members: string[]) => {
  const has = (value: unknown, member: string) => {
    const found = valueAt(value, [member.replace('()', '')]);
    return member.endsWith('()') ? typeof found === 'function' : found !== undefined;
  };
  const check = (value: unknown) => {
    const absent = members.filter((member) => !has(value, member));
    return absent.length === 0 ? undefined : `${expected} with ${absent.join(', ')}`;
  };
  return Type.Object({}, { expected, check });
};
const callback = () => Type.Unknown({ check: (value: unknown) => (typeof value === 'function' ? undefined : 'a function') });
const oneOf = (...choices: string[]) =>
  Type.String({ enum: choices, expected: `one of ${choices.map((choice) => `'${choice}'`).join(', ')}` });
const integer = (what: string, minimum: number, maximum: number) =>
  Type.Integer({ minimum, maximum, expected: `${what} from ${minimum} to ${maximum}` });
const seconds = (minimum: number, maximum: number) => integer('whole seconds', minimum, maximum);
const count = (minimum: number, maximum: number) => integer('a whole number', minimum, maximum);
const secret = (minLength: number) => Type.String({ minLength, expected: `a string of at least ${minLength} characters` });
const secrets = () => Type.Array(secret(32), { minItems: 1, expected: 'an array of one or more strings, newest first' });
const named = (expected: string) => {
  const item = Type.Object({ name: Type.String({ minLength: 1, expected: 'a name' }) }, { expected: 'an object with a name' });
  return Type.Array(item, { expected });
};

export const optionsSchema = closed<options.IdentityProviderOptions>(
  {
    issuer: Type.String({ expected: 'an absolute http(s) URL', check: values.checkIssuer }),
    artifacts: instance(
      'an ArtifactStore',
      'name',
      'ephemeral',
      'read()',
      'commit()',
      'listByAccount()',
      'hit()',
      'lease()',
      'health()',
      'close()',
    ),
    directory: instance('a DirectoryStore', 'name', 'ephemeral', 'open()', 'collection()', 'health()', 'close()'),
    seed: Type.Object({}, { expected: 'an object' }),
    keys: closed<options.KeyOptions>({
      signing: Type.Array(Type.Object({}, { expected: 'a private JWK', check: values.checkSigningKey }), {
        minItems: 1,
        expected: 'an array of one or more private JWKs',
      }),
      rotation: closed<options.RotationOptions>({
        active: seconds(3600, 365 * DAY_SECONDS),
        announced: seconds(60, 30 * DAY_SECONDS),
        retiring: seconds(60, 365 * DAY_SECONDS),
      }),
      encryption: secrets(),
    }),
    cookies: closed<options.CookieOptions>({ keys: secrets() }),
    subjectSalt: secret(16),
    trustProxy: Type.Unknown({ check: values.checkTrustProxy }),
    assertionAudience: oneOf('issuer', 'token-endpoint'),
    paths: closed<options.PathOptions>({ own: Type.String({ expected: 'a path', check: values.checkOwnPath }) }),
    claims: named('an array of claim sets'),
    claimMapping: Type.Object(
      {},
      {
        additionalProperties: Type.Unknown({ check: values.checkClaimScope }),
        expected: 'an object of scopes by claim name',
      },
    ),
    oid: oneOf('linked', 'always'),
    initialsAsPicture: Type.Boolean({ expected: 'true or false' }),
    extensions: named('an array of extensions'),
    logger: instance('a logger', 'debug()', 'info()', 'warn()', 'error()'),
    lifetimes: closed<options.LifetimeOptions>({
      code: seconds(1, 600),
      interaction: seconds(1, DAY_SECONDS),
      accessToken: seconds(1, DAY_SECONDS),
      jwtAccessToken: seconds(1, DAY_SECONDS),
      idToken: seconds(1, DAY_SECONDS),
      refreshTokenIdle: seconds(1, 365 * DAY_SECONDS),
      refreshTokenAbsolute: seconds(1, 365 * DAY_SECONDS),
      refreshTokenGrace: seconds(0, 60),
      sessionIdle: seconds(1, 30 * DAY_SECONDS),
      sessionAbsolute: seconds(1, 30 * DAY_SECONDS),
    }),
    limits: closed<options.LimitOptions>({
      signInFailures: count(1, 100),
      signInWindow: seconds(60, DAY_SECONDS),
      signInFailuresPerAccount: count(1, 100),
      signInFailuresPerAddress: count(1, 100_000),
      requestsAtOnce: count(10, 100_000),
      requestsAtOncePerConnection: count(1, 1000),
    }),
    outgoing: closed<options.OutgoingOptions>({
      allowHosts: Type.Array(Type.String({ expected: "a host as 'host' or 'host:port'", check: values.checkHost }), {
        expected: 'an array of hosts',
      }),
    }),
    passwords: closed<options.PasswordOptions>({
      algorithm: { ...oneOf('scrypt', 'argon2id'), check: values.checkPasswordAlgorithm },
      scryptCost: { ...count(2 ** 4, 2 ** 17), check: values.checkPowerOfTwo },
    }),
    locales: Type.Array(oneOf(...locales), {
      minItems: 1,
      uniqueItems: true,
      expected: 'an array of different languages, at least one',
    }),
    features: Type.Object({}, { expected: 'an object' }),
    configure: callback(),
    onProvider: callback(),
  },
  'issuer',
);

let compiled: ValidateFunction | undefined;

/** Compiled when it is first needed: who imports the library for its types or its errors does not wait for it. */
function compiledSchema(): ValidateFunction {
  if (compiled) return compiled;
  const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true });
  ajv.addVocabulary(['expected']);
  ajv.addKeyword({
    keyword: 'check',
    validate: (check: values.ValueCheck, value: unknown) => check(value) === undefined,
  });
  compiled = ajv.compile(optionsSchema);
  return compiled;
}

/** Every place where the options do not have the shape; at most one problem for each. */
export function findShapeProblems(input: unknown): readonly ConfigProblem[] {
  const validate = compiledSchema();
  if (validate(input)) return [];
  const found = new Map<string, ConfigProblem>();
  for (const error of validate.errors ?? []) {
    const one = toProblem(error);
    if (!found.has(one.path)) found.set(one.path, one);
  }
  return [...found.values()];
}

function toProblem({ keyword, instancePath, params, parentSchema, data }: ErrorObject): ConfigProblem {
  const path: OptionPath = instancePath
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part.replace(/~1/g, '/').replace(/~0/g, '~')));
  const { type, properties, expected, check, enum: choices } = parentSchema as TSchema;
  if (keyword === 'additionalProperties') {
    const name = params.additionalProperty as string;
    return withMeant(missing([...path, name], 'an option that exists'), name, Object.keys(properties));
  }
  if (keyword === 'required') {
    const name = params.missingProperty as string;
    return missing([...path, name], properties[name].expected);
  }
  const isText = type === 'string' || type === 'integer';
  const problem = wrong(path, keyword === 'check' ? check(data) : expected, data, isText);
  return choices && typeof data === 'string' ? withMeant(problem, data, choices) : problem;
}
