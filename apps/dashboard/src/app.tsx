import { QueryClientProvider } from "@tanstack/preact-query";
import type { ComponentChildren } from "preact";
import { Route, Router, Switch } from "wouter-preact";
import { connection, queries } from "./api/api.ts";
import { Toasts } from "./components/toast.tsx";
import { pagesBase } from "./embedding.ts";
import { BareLayout } from "./layout/bare-layout.tsx";
import { ConnectionNotice } from "./layout/connection-notice.tsx";
import { Layout } from "./layout/layout.tsx";
import { PageContent } from "./layout/page-content.tsx";
import { SplitPage } from "./layout/split-page.tsx";
import { useIsWide } from "./layout/use-wide.ts";
import type { Page } from "./page.ts";
import { pages } from "./pages.ts";
import { HomePage } from "./pages/home-page.tsx";
import { NotFoundPage } from "./pages/not-found-page.tsx";
import { ConfirmationDialog } from "./session/confirmation.tsx";
import { SessionGate } from "./session/session-gate.tsx";

/** All pages, each in the layout for its audience. */
export function App() {
  return (
    <QueryClientProvider client={queries}>
      <ConnectionNotice connection={connection} />
      <Router base={pagesBase}>
        <Switch>
          {pages.map((page) => (
            // A list and the pages of its rows share a key, so that the list keeps its state while rows are opened beside
            // it.
            <Route key={page.list ?? page.path} path={page.path}>
              <FramedPage page={page} />
            </Route>
          ))}
          <Route path="/">
            <SignedInOnly>
              <HomePage />
            </SignedInOnly>
          </Route>
          <Route>
            <SignedInOnly>
              <NotFoundPage />
            </SignedInOnly>
          </Route>
        </Switch>
      </Router>
      <Toasts />
    </QueryClientProvider>
  );
}

function FramedPage({ page }: { readonly page: Page }) {
  if (page.audience === "public") {
    return (
      <BareLayout>
        <PageContent page={page} />
      </BareLayout>
    );
  }
  return (
    <SignedInOnly>
      <ListOrItem page={page} />
    </SignedInOnly>
  );
}

/**
 * A list, the page of one of its rows (`Page.list` names the list), or a page that is neither. A wide window shows a list
 * and the open row side by side.
 */
function ListOrItem({ page }: { readonly page: Page }) {
  const isWide = useIsWide();
  const isList = pages.some(({ list }) => list === page.path);
  const list = isList ? page : pages.find(({ path }) => path === page.list);
  if (!isWide || list === undefined) return <PageContent key={page.path} page={page} />;
  return <SplitPage list={list} item={isList ? undefined : page} />;
}

function SignedInOnly({ children }: { readonly children: ComponentChildren }) {
  return (
    <SessionGate>
      <Layout>{children}</Layout>
      <ConfirmationDialog />
    </SessionGate>
  );
}
