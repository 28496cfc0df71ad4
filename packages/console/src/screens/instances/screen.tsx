/**
 * Instances: the identities under which agents ask. The list, one of them with its deliveries,
 * freezes and grants, and making a new one.
 */

import "./instances.css";
import type { ScreenProps } from "../../screen-props.ts";
import { InstanceDetail } from "./instance-detail.tsx";
import { InstanceList } from "./instance-list.tsx";
import { NewInstance } from "./new-instance.tsx";

export function Screen({ rest }: ScreenProps) {
  if (rest === "") return <InstanceList />;
  return rest === "new" ? <NewInstance /> : <InstanceDetail id={rest} />;
}
