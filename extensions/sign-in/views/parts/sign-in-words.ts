/** Texts that several sign-in forms share. */
import type { Problem } from '../../view-models.js';
import type { PageContext } from './layout.js';

export function signInTitle({ text, frame }: PageContext): string {
  if (frame.client) return text('signIn.title', { client: frame.client.name });
  return text(frame.isForAccount ? 'signIn.title.account' : 'signIn.title.plain');
}

interface Reported {
  readonly problem?: Problem;
  readonly minutes?: number;
}

export function problemText({ problem, minutes = 1 }: Reported, { text }: PageContext): string | undefined {
  if (problem === undefined) return undefined;
  if (problem === 'attempts.exceeded') return text(problem, { duration: text.minutes(minutes) });
  return text(problem);
}
