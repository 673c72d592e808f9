import type { Page } from 'playwright-core';

/** Returns the words in these elements that the browser broke at the end of a line. */
export const brokenWordsOn = (page: Page, selector: string): Promise<readonly string[]> =>
  page.evaluate(`(() => {
    const isBroken = (node, { index, 0: word }) => {
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
    };
    const textsOf = (element) => [...element.childNodes].flatMap((node) => (node.nodeType === Node.TEXT_NODE ? [node] : textsOf(node)));
    return [...document.querySelectorAll(${JSON.stringify(selector)})].flatMap(textsOf).flatMap((node) =>
      [...node.data.matchAll(/[\\p{L}\\p{N}]+/gu)].filter((word) => isBroken(node, word)).map(([word]) => word),
    );
  })()`);
