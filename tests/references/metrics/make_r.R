# Reference values from R: survival, riskRegression, cmprsk. Reads data.json, writes r.json; see README.md.
suppressMessages({
  library(jsonlite); library(survival); library(riskRegression); library(cmprsk); library(splines); library(prodlim)
})
content <- fromJSON("data.json")
horizons <- content$horizons

concordances <- function(d, status) {
  y <- Surv(d$time, status)
  td <- function(t) concordance(y ~ d$risk, timewt = "n/G2", ymax = t, reverse = TRUE)$concordance
  list(
    harrell = concordance(y ~ d$risk, reverse = TRUE)$concordance,
    uno = concordance(y ~ d$risk, timewt = "n/G2", reverse = TRUE)$concordance,
    td = sapply(horizons, td),
    truncated = concordance(Surv(d$entry, d$time, status) ~ d$risk, reverse = TRUE)$concordance
  )
}

# Wolbers' concordance: the weights of finegray() keep subjects with another event in the risk set.
wolbers <- function(d, horizon) {
  frame <- data.frame(time = d$time, event = factor(d$event, 0:2), risk = d$risk, id = seq_along(d$time))
  fg <- finegray(Surv(time, event) ~ ., data = frame, etype = 1)
  G <- survfit(Surv(time, event == 0) ~ 1, data = transform(frame, time = time + 0.5 * (event == 0)))  # events first
  before <- function(t) c(1, G$surv)[findInterval(t, G$time, left.open = TRUE) + 1]
  cases <- frame[frame$event == 1 & frame$time <= horizon, ]
  parts <- sapply(seq_len(nrow(cases)), function(i) {
    t <- cases$time[i]
    at <- fg[fg$fgstart < t & t <= fg$fgstop & !(fg$fgstatus == 1 & fg$fgstop == t), ]
    w <- at$fgwt / before(t)^2
    c(sum(w * ((at$risk < cases$risk[i]) + 0.5 * (at$risk == cases$risk[i]))), sum(w))
  })
  sum(parts[1, ]) / sum(parts[2, ])
}

score <- function(d, event, competing) {
  use <- horizons[horizons <= max(d$time)]
  frame <- data.frame(time = d$time, event = if (competing) d$event else as.integer(d$event > 0))
  prediction <- d[[paste0("incidence", event)]][, seq_along(use)]
  formula <- if (competing) Hist(time, event) ~ 1 else Surv(time, event) ~ 1
  s <- Score(list(m = prediction), formula = formula, data = frame, times = use, cause = event,
             null.model = FALSE, se.fit = FALSE, metrics = c("auc", "brier"), summary = "ibs")
  list(horizons = use, brier = s$Brier$score$Brier, ibs = s$Brier$score$IBS, auc = s$AUC$score$AUC)
}

curves <- function(d) {
  y <- Surv(d$time, d$event > 0)
  km <- function(y, type) {
    f <- survfit(y ~ 1, conf.type = type)
    list(time = f$time, estimate = f$surv, standard_error = f$std.err * f$surv, lower = f$lower, upper = f$upper,
         hazard = f$cumhaz, hazard_standard_error = f$std.chaz, at_risk = f$n.risk)
  }
  late <- Surv(d$entry, d$time, d$event > 0)
  cif <- cuminc(d$time, d$event)
  states <- factor(d$event, 0:2)
  aj <- function(y) {
    f <- survfit(y ~ 1, id = seq_along(d$time))
    list(time = f$time, estimate = f$pstate[, 2], standard_error = f$std.err[, 2])
  }
  list(
    km_loglog = km(y, "log-log"), km_log = km(y, "log"), km_plain = km(y, "plain"), km_truncated = km(late, "log-log"),
    cuminc1 = timepoints(cif, sort(unique(d$time)))$est["1 1", ], cuminc1_var = timepoints(cif, sort(unique(d$time)))$var["1 1", ],
    cuminc2 = timepoints(cif, sort(unique(d$time)))$est["1 2", ], cuminc2_var = timepoints(cif, sort(unique(d$time)))$var["1 2", ],
    cuminc_time = sort(unique(d$time)),
    aj = aj(Surv(d$time, states)), aj_truncated = aj(Surv(d$entry, d$time, states))
  )
}

# The integrated calibration index after Austin et al.: Cox or Fine-Gray regression on a restricted cubic spline.
ici <- function(d, event, competing, column) {
  p <- pmin(pmax(d[[paste0("incidence", event)]][, column], 1e-8), 1 - 1e-8)
  x <- log(-log(1 - p))
  knots <- quantile(x, c(0.1, 0.5, 0.9), names = FALSE)
  frame <- data.frame(time = d$time, x = x, any = d$event > 0)
  if (competing) {
    z <- ns(x, knots = knots[2], Boundary.knots = knots[c(1, 3)])
    fit <- crr(d$time, d$event, scale(z), failcode = event, gtol = 1e-12, maxiter = 100)
    hazard <- sum(fit$bfitj[fit$uftime <= horizons[column]])
    return(mean(abs(p - (1 - exp(-hazard * exp(as.vector(scale(z) %*% fit$coef)))))))
  }
  fit <- coxph(Surv(time, any) ~ ns(x, knots = knots[2], Boundary.knots = knots[c(1, 3)]),
               data = frame, ties = "breslow", control = coxph.control(eps = 1e-12, iter.max = 50))
  at <- summary(survfit(fit, newdata = frame), times = horizons[column])$surv
  mean(abs(p - (1 - as.vector(at))))
}

result <- list(versions = lapply(c(survival = "survival", riskRegression = "riskRegression", cmprsk = "cmprsk"),
                                 function(p) as.character(packageVersion(p))))
for (name in c("tied", "continuous")) {
  d <- content[[name]]
  result[[name]] <- list(
    concordance_any = concordances(d, as.integer(d$event > 0)),
    concordance_1 = concordances(d, as.integer(d$event == 1)),
    wolbers = if (name == "tied") sapply(horizons, function(t) wolbers(d, t)),
    score_any = score(d, 1, FALSE), score_1 = score(d, 1, TRUE), score_2 = score(d, 2, TRUE),
    curves = curves(d),
    ici_any = sapply(2:3, function(k) ici(d, 1, FALSE, k)),
    ici_1 = sapply(2:3, function(k) ici(d, 1, TRUE, k))
  )
}
write_json(result, "r.json", digits = I(16), auto_unbox = TRUE, na = "null")
