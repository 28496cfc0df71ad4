/**
 * Every place where the provider can be broken, with what is right there. A planted fault puts
 * another function in the place of one of them, and the rest of the provider stays as it is.
 */

import { CORRECT_DELIVERY, type DeliveryConduct } from "./conduct-delivery.ts";
import { CORRECT_EXCHANGE, type ExchangeConduct } from "./conduct-exchange.ts";
import {
  CORRECT_INSTANCES,
  CORRECT_REQUESTS,
  type InstanceConduct,
  type RequestConduct,
} from "./conduct-requests.ts";
import type { Records } from "./ledger.ts";

export type Conduct = ExchangeConduct & RequestConduct & InstanceConduct & DeliveryConduct;

export interface Ledger extends Records {
  readonly conduct: Conduct;
}

export const CORRECT: Conduct = {
  ...CORRECT_EXCHANGE,
  ...CORRECT_REQUESTS,
  ...CORRECT_INSTANCES,
  ...CORRECT_DELIVERY,
};
