/** Every link of the documentation leads somewhere. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { pages } from './pages.js';

const isElsewhere = (link: string): boolean => /^(https?|mailto):/.test(link);

describe.each(pages.map((page) => [page.path, page] as const))('%s', (path, { links, anchors }) => {
  test('points at headings and files that exist', () => {
    const broken = links.filter((link) => {
      if (isElsewhere(link)) return false;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : normalize(join(dirname(path), file));
      const page = pages.find((one) => one.path === target);
      return !existsSync(target) || (anchor !== undefined && !page?.anchors.includes(`#${anchor}`));
    });
    expect(broken).toEqual([]);
  });

  test('has no two headings of one name, which one link would mean both of', () => {
    expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([]);
  });
});

test('links are found', () => {
  expect(pages.flatMap(({ links }) => links).length).toBeGreaterThan(60);
});
