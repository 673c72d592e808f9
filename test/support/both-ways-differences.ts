import type { Outcome, TwinRequest } from './twins.js';

/** What the service answers otherwise than oidc-provider over the same records, on purpose. */
export interface Difference {
  /** Its row of the section “Differences from oidc-provider” of docs/decisions.md: what it concerns. */
  readonly concerns: string;
  /** Whether two outcomes of a request differ for this reason and no other. */
  explains(request: TwinRequest, direct: Outcome, other: Outcome): boolean;
}

/** Each has a reason in docs/decisions.md, and each row there is here: a test compares them. */
export const differences: readonly Difference[] = [];

/** Problems with a table of differences, given the rows of the decisions. */
export const differenceProblems = (table: readonly Pick<Difference, 'concerns'>[], decided: readonly string[]): readonly string[] => {
  const listed = table.map(({ concerns }) => concerns);
  return [
    ...listed.filter((name) => !decided.includes(name)).map((name) => `nobody decided: ${name}`),
    ...decided.filter((name) => !listed.includes(name)).map((name) => `decided, and not compared: ${name}`),
    ...listed.filter((name, index) => listed.indexOf(name) !== index).map((name) => `twice: ${name}`),
  ];
};
