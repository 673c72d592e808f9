/** What a run is told by its environment. */
const {
  BENCH_ROUNDS = '32',
  BENCH_SLICE = '150',
  BENCH_ROWS = '',
  BENCH_AGAINST = 'plain,control,published',
  BENCH_PROFILE,
  BENCH_TOKENS = '1000000',
  BENCH_PERSONS = '100000',
} = process.env;

export const settings = {
  /** Slices of each contestant in each row. */
  rounds: Number(BENCH_ROUNDS),
  /** Length of a slice in milliseconds. */
  slice: Number(BENCH_SLICE),
  /** Whom ours is measured against. */
  against: BENCH_AGAINST.split(','),
  /** Folder that gets a V8 CPU profile of ours. */
  profile: BENCH_PROFILE,
  /** How many a store holds that has grown. */
  tokens: Number(BENCH_TOKENS),
  /** How many persons a tenant has that has grown. */
  persons: Number(BENCH_PERSONS),
  /** Whether a row is asked for: a part of its name is enough. */
  isWanted: (row: string): boolean => BENCH_ROWS.split(',').some((part) => row.includes(part)),
} as const;
