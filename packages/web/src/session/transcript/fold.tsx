import { type ReactNode, useId, useState } from "react";

/** Something that is folded away behind a line that names it; what is in it is not even made before. */
export function Fold({
  summary,
  className,
  startsOpen = false,
  children,
}: {
  readonly summary: ReactNode;
  readonly className: string;
  readonly startsOpen?: boolean;
  readonly children: () => ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(startsOpen);
  const id = useId();
  return (
    <div className={`fold ${className}`}>
      <button
        type="button"
        className="fold-summary"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <span className="fold-arrow" aria-hidden="true" />
        {summary}
      </button>
      <div id={id} className="fold-body" hidden={!isOpen}>
        {isOpen ? children() : null}
      </div>
    </div>
  );
}
