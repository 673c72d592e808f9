/** Settings of a run, from its environment. */
const {
  BENCH_ROUNDS = '24',
  BENCH_SLICE = '75',
  BENCH_ROWS = '',
  BENCH_AGAINST = 'plain,control,published',
  BENCH_BEFORE,
  BENCH_JSON,
  BENCH_PROFILE,
  BENCH_TOKENS = '1000000',
  BENCH_PERSONS = '100000',
} = process.env;

export const settings = {
  /** Slices of each contestant in each row. */
  rounds: Number(BENCH_ROUNDS),
  /** Length of a slice in milliseconds. */
  slice: Number(BENCH_SLICE),
  /** Sides with which this library is compared. */
  against: BENCH_AGAINST.split(','),
  /** Folder of another checkout of this repository, with its `dist`. Its build is measured in addition to the present build. */
  before: BENCH_BEFORE,
  /** File that gets the results as JSON. */
  json: BENCH_JSON,
  /** Folder that gets a V8 CPU profile of this library. */
  profile: BENCH_PROFILE,
  /** Number of tokens in a store that has grown. */
  tokens: Number(BENCH_TOKENS),
  /** Number of persons in a tenant that has grown. */
  persons: Number(BENCH_PERSONS),
  /** Returns whether a row is requested. Each entry of `BENCH_ROWS` is a part of a row's name. */
  isWanted: (row: string): boolean => BENCH_ROWS.split(',').some((part) => row.includes(part)),
} as const;
