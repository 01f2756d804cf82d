# Covariates that change over time: Cox regression on intervals, curves along paths, rows of tmerge, and measures at landmarks,
# on the sets heart and pbcseq of R's survival package. Run here: Rscript make.R    (writes r.json)
suppressMessages({library(survival); library(riskRegression); library(jsonlite); library(prodlim)})
exact <- coxph.control(eps = 1e-12, toler.chol = 1e-13, iter.max = 100)

cox <- function(fit) list(
  coef = unname(coef(fit)), standard_errors = unname(sqrt(diag(fit$var))),
  log_likelihood = fit$loglik[2], log_likelihood_null = fit$loglik[1], concordance = unname(fit$concordance["concordance"]))

# heart: transplantation as covariate that changes.
of_heart <- list()
for (ties in c("efron", "breslow"))
  of_heart[[ties]] <- cox(coxph(Surv(start, stop, event) ~ age + year + surgery + transplant, heart, ties = ties, control = exact))
heart$moved <- as.numeric(heart$transplant == 1)
fit <- coxph(Surv(start, stop, event) ~ age + year + surgery + moved, heart, control = exact)
ids <- c(3, 4, 10, 25)
times <- c(0, 5, 20, 40, 80, 200, 400)
along <- lapply(ids, function(one) {
  s <- survfit(fit, newdata = heart[heart$id == one, ], id = id, se.fit = FALSE)
  summary(s, times = times, extend = TRUE)$surv
})

# pbcseq: every visit begins an interval.
first <- pbcseq[!duplicated(pbcseq$id), ]
rows <- tmerge(first[, c("id", "age")], first, id = id, death = event(futime, as.numeric(status == 2)))
rows <- tmerge(rows, pbcseq, id = id, bili = tdc(day, bili), protime = tdc(day, protime), albumin = tdc(day, albumin),
               chol = tdc(day, chol))
of_pbcseq <- cox(coxph(Surv(tstart, tstop, death) ~ age + log(bili) + log(protime) + albumin, rows, control = exact))

# Measures at a landmark: of those at risk at s, with the last bilirubin up to s as a made-up prediction.
at_landmark <- function(s, w) {
  known <- pbcseq[pbcseq$day <= s & !is.na(pbcseq$bili), ]
  known <- known[!duplicated(known$id, fromLast = TRUE), ]
  risk <- setNames(plogis(log(known$bili) - 1.5), known$id)
  all <- first
  here <- all[all$futime > s, ]
  p <- unname(risk[as.character(here$id)])
  d <- data.frame(time = here$futime - s, any = as.integer(here$status > 0), status = here$status, p = p)
  one <- Score(list(m = matrix(p)), Surv(time, any) ~ 1, data = d, times = w, null.model = FALSE, se.fit = FALSE,
               metrics = c("auc", "brier"))
  two <- Score(list(m = matrix(p)), Hist(time, status) ~ 1, data = d, times = w, cause = 2, null.model = FALSE, se.fit = FALSE,
               metrics = c("auc", "brier"))
  # The same Brier score by its formula, with weights G(s) / G(t-) and G from all subjects, those not at risk at s included.
  G <- survfit(Surv(time + 0.5 * (any == 0), any == 0) ~ 1, data = transform(all, time = futime, any = as.integer(status > 0)))
  g <- function(t, left) c(1, G$surv)[findInterval(t, floor(G$time), left.open = left) + 1]      # events come first
  g_s <- g(s, FALSE)
  weight <- ifelse(here$futime <= s + w, (here$status > 0) * g_s / g(here$futime, TRUE), g_s / g(s + w, FALSE))
  happened <- as.integer(here$futime <= s + w)
  formula <- mean(weight * (happened - p)^2)
  groups <- cut(p, quantile(p, 0:4 / 4), include.lowest = TRUE, labels = FALSE)
  observed <- sapply(1:4, function(g) 1 - summary(survfit(Surv(time, any) ~ 1, d[groups == g, ]), times = w)$surv)
  list(landmark = s, window = w, at_risk = nrow(here), risk = p, id = here$id, brier = one$Brier$score$Brier, auc = one$AUC$score$AUC,
       brier_by_formula = formula, brier_death = two$Brier$score$Brier, auc_death = two$AUC$score$AUC,
       concordance = concordance(Surv(time, any) ~ p, d, timewt = "n/G2", ymax = w, reverse = TRUE)$concordance,
       observed_by_quarter = observed)
}
landmarks <- lapply(c(365, 1095, 1826), at_landmark, w = 730)

made_with <- list(R = R.version.string, survival = as.character(packageVersion("survival")),
                  riskRegression = as.character(packageVersion("riskRegression")))
writeLines(toJSON(list(
  made_with = made_with, heart = of_heart, along = list(ids = ids, times = times, survival = along),
  pbcseq = of_pbcseq, tmerge = rows[, c("id", "tstart", "tstop", "death", "bili", "protime", "albumin", "chol")][rows$id <= 60, ],
  tmerge_rows = nrow(rows), landmarks = landmarks), digits = I(15), auto_unbox = TRUE, na = "null", dataframe = "columns"), "r.json")
