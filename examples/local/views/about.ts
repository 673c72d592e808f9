/** Pages that the sign-in pages link at their foot. */
import { html } from './html.js';
import { layout } from './layout.js';

const pages = {
  privacy: ['Privacy', 'The demo keeps what you type until it ends, and sends nothing to anybody.'],
  terms: ['Terms', 'Use the demo as you like. Its passwords are public, so keep nothing in it that is secret.'],
  help: ['Help', 'The accounts and their passwords are on the home page, and in the terminal in which the demo runs.'],
} as const;

export const aboutPaths = Object.keys(pages).map((name) => `/${name}`);

/** @param path one of {@link aboutPaths} */
export function aboutPage(path: string): string {
  const [title, text] = pages[path.slice(1) as keyof typeof pages];
  return layout({
    title,
    body: html`
<section class="hero narrow">
<h1>${title}</h1>
<p class="lead">${text}</p>
</section>`,
  });
}
