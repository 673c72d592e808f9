import { expect, jest } from '@jest/globals';
import { DOMParser } from '@xmldom/xmldom';

/** Returns the answer of `send`, and the number of parser calls by the service and by the library that verifies. */
export async function countingParses<Answer>(send: () => Promise<Answer>): Promise<{ readonly answer: Answer; readonly parses: number }> {
  const spy = jest.spyOn(DOMParser.prototype, 'parseFromString');
  try {
    const answer = await send();
    return { answer, parses: spy.mock.calls.length };
  } finally {
    spy.mockRestore();
  }
}

/** Returns the answer of `send`, after checking that no parser was called. */
export async function unparsed<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  const { answer, parses } = await countingParses(send);
  expect(parses).toBe(0);
  return answer;
}
