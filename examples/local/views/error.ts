import { html } from './html.js';
import { layout } from './layout.js';

export const errorPage = (title: string, message: string, detail?: string): string =>
  layout({
    title,
    body: html`
<section class="hero narrow">
<h1>${title}</h1>
<p class="lead">${message}</p>
${detail !== undefined && html`<p class="detail"><code>${detail}</code></p>`}
<div class="pair"><a class="button primary" href="/sign-in">Sign in</a><a class="button" href="/">To the start page</a></div>
</section>`,
  });
