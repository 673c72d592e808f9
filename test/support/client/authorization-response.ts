import { expect } from '@jest/globals';
import { redirectUri } from '../service/seed.js';
import { type Answer, formOf } from './agent.js';

/** Returns the members of an authorization response in a URL or in a form. */
export function membersOf(answer: Answer, target = redirectUri): Record<string, string> {
  if (answer.location === undefined) {
    const { action, fields } = formOf(answer);
    expect(action).toBe(target);
    return fields;
  }
  expect(answer.location.startsWith(target)).toBe(true);
  const { search, hash } = new URL(answer.location);
  return Object.fromEntries(new URLSearchParams(hash === '' ? search : hash.slice(1)));
}

/** Whether the answer is the page where a sign-in begins. */
export const isSignInPage = ({ status, body }: Answer): boolean => status === 200 && body.includes('name="identifier"');
