/** Findings of axe-core, which tests accessibility, for a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Loads axe-core into the current page. */
export const loadAxe = (page: Page): Promise<unknown> => page.evaluate(axe);

/** Returns the violations on a page that has axe, in words. @param tags tags of the rules. @default all */
export const violationsOn = (page: Page, tags?: readonly string[]): Promise<unknown> =>
  page.evaluate(`axe.run(${JSON.stringify({ resultTypes: ['violations'], ...(tags ? { runOnly: tags } : {}) })}).then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, ...nodes.map(({ html, failureSummary }) => html + failureSummary)]))`);
