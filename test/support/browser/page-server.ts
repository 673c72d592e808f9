/** Serves the gallery with the headers of the service's pages, and records posted bodies. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pagePolicy, renderPage } from '../../../extensions/sign-in/render.js';
import { pageHeaders } from '../../../lib/http/pages/security-headers.js';
import type { GalleryPage } from './page-gallery.js';

const logo = '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"><rect width="160" height="40" rx="8" fill="#7a5c00"/></svg>';

export interface PageServer extends AsyncDisposable {
  readonly origin: string;
  /** Bodies posted so far, oldest first. A form sent by GET counts with its query. */
  readonly received: string[];
}

/** Serves each page at `/pages/<name>`, and a logo at `/logo.svg`. All other paths accept any request. */
export async function servePages(pages: readonly GalleryPage[]): Promise<PageServer> {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://host.invalid');
    const page = pages.find(({ name }) => url.pathname === `/pages/${name}`);
    if (request.method === 'GET' && page) {
      const headers = pageHeaders('http://localhost', pagePolicy(page.view, page.frame));
      response.writeHead(200, { ...headers, 'Content-Type': 'text/html; charset=utf-8' });
      response.end(renderPage(page.view, page.frame));
    } else if (url.pathname === '/logo.svg') {
      response.writeHead(200, { 'Content-Type': 'image/svg+xml' }).end(logo);
    } else {
      const sent = request.method === 'POST' ? await text(request) : url.search.slice(1);
      if (url.pathname !== '/favicon.ico') received.push(sent);
      // With 204, the browser stays on the page that sent the form.
      response.writeHead(url.pathname === '/stay' ? 204 : 200, { 'Content-Type': 'text/html; charset=utf-8' });
      response.end(url.pathname === '/stay' ? '' : '<!doctype html><title>received</title>');
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
