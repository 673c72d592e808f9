import { expect, jest } from '@jest/globals';
import { DOMParser } from '@xmldom/xmldom';

/** What `send` answers, and how often a parser was called meanwhile: ours, or the one of the library that verifies. */
export async function countingParses<Answer>(send: () => Promise<Answer>): Promise<{ readonly answer: Answer; readonly parses: number }> {
  const spy = jest.spyOn(DOMParser.prototype, 'parseFromString');
  try {
    const answer = await send();
    return { answer, parses: spy.mock.calls.length };
  } finally {
    spy.mockRestore();
  }
}

/** What `send` answers, once it is sure that no parser was called. */
export async function unparsed<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  const { answer, parses } = await countingParses(send);
  expect(parses).toBe(0);
  return answer;
}
