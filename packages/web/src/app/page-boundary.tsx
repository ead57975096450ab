import { Component, type ReactNode } from "react";

/** A page, and where it is: another place gets another chance. */
export interface PageBoundaryProps {
  readonly place: string;
  readonly children: ReactNode;
}

interface PageBoundaryState {
  readonly place: string;
  readonly error: Error | undefined;
}

/**
 * Shows in place of a page that it could not be shown: a fault of ours, or a part of the app that could not be fetched,
 * as after an update of the server. The rest of the app, the status above all, goes on (SPEC WB21).
 */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override state: PageBoundaryState = { place: this.props.place, error: undefined };

  static getDerivedStateFromError(error: unknown): Pick<PageBoundaryState, "error"> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(props: PageBoundaryProps, state: PageBoundaryState): PageBoundaryState | null {
    return props.place === state.place ? null : { place: props.place, error: undefined };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="sheet">
        <h1>This page cannot be shown</h1>
        <p role="alert" className="fault">
          {error.message}
        </p>
        <p>Nothing is lost by that. After a reload it may work.</p>
        <div className="acts">
          <button type="button" className="button" onClick={() => location.reload()}>
            Reload
          </button>
        </div>
      </div>
    );
  }
}
